// Registers Parley's tools with a gateway that has OpenClaw's plugin API.

/**
 * host is a Host over the gateway's own sessions. runOf returns the host's run that an
 * agent's call is made in, by the context of the tool: without it chains of agents are
 * not counted, and two of them may wait for each other until their time is over.
 *
 * The names are prefixed, because the gateway passes over a plugin's tool that has the
 * name of one of its own; deny those in tools.deny, so that agents see each tool once.
 */
export function register(api, host, runOf = () => undefined) {
  for (const { name, description, inputSchema } of host.tools) {
    // The factory is called for each session, and knows whose call it will be: the
    // arguments never say that.
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
