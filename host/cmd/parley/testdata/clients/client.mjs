// Lists and calls Parley's tools with the official TypeScript SDK, and prints
// the results as JSON:
//
//   node client.mjs stdio COMMAND ARG…      start a server and use its stdio
//   node client.mjs http URL TOKEN          use streamable HTTP
//
// It calls the tools named in the environment variable CALLS, a JSON array of
// {name, arguments}.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [kind, target, ...rest] = process.argv.slice(2);

const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: "inherit" })
    : new StreamableHTTPClientTransport(new URL(target), {
        requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } },
      });

const client = new Client({ name: "parley-test", version: "1.0.0" });
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const call of JSON.parse(process.env.CALLS)) {
  // The SDK validates structuredContent against the tool's outputSchema.
  results.push(await client.callTool(call));
}
await client.close();
console.log(JSON.stringify({ server: client.getServerVersion(), tools, results }));
