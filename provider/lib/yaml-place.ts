import { isAlias, isMap, isNode, isScalar, isSeq, type Document, type YAMLMap } from "yaml";

/**
 * Where in the text the field of a path stands, as an offset: its value, or its name with `isKey`. Of a field that is not
 * there it is the place of what should hold it.
 */
export function findPlace(
  document: Document,
  path: readonly PropertyKey[],
  { isKey }: { isKey: boolean },
): number {
  let node: unknown = document.contents;
  let offset = offsetOf(node, 0);
  for (const [index, segment] of path.entries()) {
    const holder = isAlias(node) ? node.resolve(document) : node;
    const name = isMap(holder) ? findName(holder, segment) : undefined;
    node = childOf(holder, segment);
    const isNamed = name !== undefined && (isKey ? index === path.length - 1 : !isNode(node));
    offset = offsetOf(isNamed ? name : node, offset);
  }
  return offset;
}

function childOf(holder: unknown, segment: PropertyKey): unknown {
  if (isMap(holder)) return findPair(holder, segment)?.value;
  return isSeq(holder) && typeof segment === "number" ? holder.items[segment] : undefined;
}

const findName = (map: YAMLMap, name: PropertyKey): unknown => findPair(map, name)?.key;

const findPair = (map: YAMLMap, name: PropertyKey): YAMLMap["items"][number] | undefined =>
  map.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(name));

const offsetOf = (node: unknown, otherwise: number): number =>
  isNode(node) ? (node.range?.[0] ?? otherwise) : otherwise;
