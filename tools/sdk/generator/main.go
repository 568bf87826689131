// Generates the SDKs for a Pulumi package schema: generate-sdk SCHEMA FOLDER LANGUAGE...
// Each language gets a folder with its name in FOLDER. The language hosts that can be built here are too
// old to generate SDKs; this calls the generators that today's hosts call.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	gogen "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

// The name of the generator in each generated file.
const tool = "pulumi-apichat"

// The schema refers to no other package, so nothing is ever loaded.
type noLoader struct{ schema.ReferenceLoader }

var generators = map[string]func(*schema.Package) (map[string][]byte, error){
	"python": func(pkg *schema.Package) (map[string][]byte, error) {
		return python.GeneratePackage(tool, pkg, nil, noLoader{})
	},
	"go": func(pkg *schema.Package) (map[string][]byte, error) {
		return gogen.GeneratePackage(tool, pkg, nil)
	},
	"nodejs": func(pkg *schema.Package) (map[string][]byte, error) {
		return nodejs.GeneratePackage(tool, pkg, nil, nil, false, noLoader{})
	},
}

func main() {
	if len(os.Args) < 4 {
		fail(fmt.Errorf("usage: generate-sdk SCHEMA FOLDER LANGUAGE..."))
	}
	for _, language := range os.Args[3:] {
		if err := generate(os.Args[1], filepath.Join(os.Args[2], language), language); err != nil {
			fail(fmt.Errorf("%s: %w", language, err))
		}
	}
}

func generate(schemaFile, folder, language string) error {
	generator, ok := generators[language]
	if !ok {
		return fmt.Errorf("no generator for this language")
	}
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		return err
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	// Bound again for each language, because a generator changes it.
	pkg, diagnostics, err := schema.BindSpec(spec, noLoader{}, schema.ValidationOptions{})
	if err != nil {
		return err
	}
	if diagnostics.HasErrors() {
		return diagnostics
	}
	files, err := generator(pkg)
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
