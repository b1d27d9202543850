// Registers Parley's tools with a gateway that has OpenClaw's plugin API.

/**
 * host is a Host over the gateway's own sessions. runOf returns the host's run of an
 * agent's call, given the tool's context. Without it the host cannot count the hops of a
 * chain of agents, and two agents may wait for each other until their timeouts.
 *
 * The names have a prefix, because the gateway ignores a plugin's tool with the name of
 * a built-in one. Deny the built-in ones in tools.deny, so that agents see each tool once.
 */
export function register(api, host, runOf = () => undefined) {
  for (const { name, description, inputSchema } of host.tools) {
    // The gateway calls the factory per session: the caller comes from the context,
    // never from the arguments.
    const forSession = (context) => ({
      name: `parley_${name}`,
      label: name,
      description,
      parameters: inputSchema,
      async execute(_toolCallId, args) {
        const { result } = await host.call(name, args, context.sessionKey, runOf(context));
        return { content: [{ type: "text", text: JSON.stringify(result) }], details: result };
      },
    });
    api.registerTool(forSession, { name: `parley_${name}` });
  }
}
