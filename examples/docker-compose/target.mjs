// Stands in for your program: it prints each delivery. A delivery may arrive twice, with the same id.
import { createServer } from "node:http";

const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (text) => (body += text));
  request.on("end", () => {
    console.log(request.headers["x-apichat-delivery-id"], request.url, body);
    response.end();
  });
});
server.listen(3000);
