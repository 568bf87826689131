// In place of your program: it prints each delivery. A delivery may come twice; its id tells.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

createServer(async (request, response) => {
  console.log(request.headers["x-apichat-delivery-id"], request.url, await text(request));
  response.end();
}).listen(3000);
