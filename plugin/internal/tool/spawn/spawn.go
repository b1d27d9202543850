// Package spawn implements the tool sessions_spawn (S5): it creates a child session that
// works on its own task and reports to the session that spawned it.
//
// A call is a flow of steps. The first step creates the child, queues its run and answers
// the caller; a caller never waits for a child. The state between two steps identifies the
// run or time that the flow waits for, in one of four phases:
//
//	child     the child's run. The flow also reports a run that failed.
//	announce  the child's run that writes the report. If it fails, the report
//	          contains only the result (S5.5).
//	parent    the requester's run that answers the report, if the report was sent
//	          into the requester's session (S5.6).
//	cleanup   the time to archive the child, or to retry deleting it (S5.7).
//
//	call ─► child ─► announce ─┬──────────────► cleanup ─► end
//	          │                └─► parent ──────▲
//	          └─────────────────────────────────┘  silent, stored
//
// No later step can lose a result: a result that can no longer be reported stays in
// the child's transcript, and the child is not deleted. All reads of a step precede its
// first write.
package spawn

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/schema"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/flow"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// Tool describes sessions_spawn.
func Tool() abi.Tool {
	return abi.Tool{
		Name: abi.ToolSpawn,
		Description: "Start a child session that works on a task by itself, under your own agent or one of agents_list. " +
			"Returns at once. When the child has ended, its result is announced to your chat channel (announce: channel, the default), " +
			"or sent to you as a message (parent); do not wait for it, and do not ask for it again. " +
			"Say in the task everything that the child needs to know: it does not see your conversation.",
		InputSchema:  schema.SpawnInput,
		OutputSchema: schema.SpawnOutput,
		Needs:        []string{"session", "tools", "agents", "models"},
	}
}

// Call runs the first step. It fails with an *abi.Error or a *guest.Fault.
func Call(h guest.Host, in *guest.Input) (*abi.StepResult, error) {
	q, err := read(in.Args)
	if err != nil {
		return nil, err
	}
	step, err := flow.Open(h, in)
	if err != nil {
		return nil, err
	}
	f := &spawnFlow{Step: step}
	f.requester = f.View.Self
	if err := f.readRequester(); err != nil {
		return nil, err
	}
	if err := f.checkMaySpawn(); err != nil {
		return nil, err
	}
	agentID, err := f.agent(q.agentID)
	if err != nil {
		return nil, err
	}
	model, err := f.model(q.model, agentID)
	if err != nil {
		return nil, err
	}
	f.child, _, err = f.Client.Create(&abi.CreateRequest{
		AgentID: agentID, Label: q.label, Model: model, ThinkingLevel: q.thinking, MaxActive: f.Settings.Children.MaxActive,
	})
	switch refusal, err := guest.Refusal(err); {
	case err != nil:
		return nil, err
	case refusal != nil:
		return nil, abi.NewError(refusal.Code, "no more children now: "+refusal.Error()+
			" (agents.defaults.subagents.maxChildrenPerAgent is "+strconv.Itoa(f.Settings.Children.MaxActive)+"); do the task here, or spawn again when one has ended")
	}
	f.work, err = f.Client.Run(&abi.RunRequest{
		SessionKey: f.child, Message: q.task, Context: f.taskContext(agentID, &q), Group: abi.GroupSubagent, TimeoutSeconds: q.timeout,
	})
	if err != nil {
		return nil, err
	}
	f.task, f.announce, f.deletes = q.task, q.announce, q.deletes
	f.phase, f.run = phaseChild, f.work
	f.wait("waiting for the child " + f.child)

	o := jsonappend.Open(nil)
	o.String("status", "accepted")
	o.String("runId", f.work)
	o.String("childSessionKey", f.View.Show(f.child))
	o.String("model", model)
	f.Out.Result = o.Close()
	return f.Result(f.appendJSON), nil
}

// checkMaySpawn refuses to spawn children of children, and chains of flows that are too
// long (S5.2, S5.6).
func (f *spawnFlow) checkMaySpawn() error {
	c := &f.In.Caller
	if c.Depth > 0 || sessionkey.IsChild(c.SessionKey) || f.from != nil && f.from.SpawnedBy != "" {
		return abi.NewError(abi.Forbidden, "this session was spawned itself, and children cannot spawn children; do the task here, or report what is left to do")
	}
	return f.In.CheckHops("spawning")
}

// agent returns the child's agent: the requester's own agent, or another one for which the
// requester may spawn sessions (S5.2).
func (f *spawnFlow) agent(id string) (string, error) {
	own := f.View.Agent
	if id == "" || id == own {
		return own, nil
	}
	if f.Settings.Find(id) == nil {
		return "", abi.NewError(abi.NotFound, "agentId "+render.Quote(id)+" is not a configured agent; agents_list shows those that you may use")
	}
	_, allowed := f.Settings.Allowed(own, f.In.Caller.Operator)
	list := own
	for _, a := range allowed {
		if a == id {
			return id, nil
		}
		list += ", " + a
	}
	return "", abi.NewError(abi.Forbidden, "agentId "+render.Quote(id)+" is not allowed for agent "+own+" (agents.list[].subagents.allowAgents); allowed are: "+transcript.TruncateText(list, maxList))
}

// maxList bounds the list of agents or models in a refusal, in bytes.
const maxList = 2000

// model returns the child's model; "" leaves the model to its agent.
func (f *spawnFlow) model(asked, agentID string) (string, error) {
	model, source := asked, "model"
	if asked == "" {
		model, source = f.Settings.ChildModel(agentID)
	}
	if model == "" || f.Settings.AllowsModel(model) {
		return model, nil
	}
	list := ""
	for i, m := range f.Settings.Models {
		if i > 0 {
			list += ", "
		}
		list += m
	}
	if list == "" {
		list = "none"
	}
	return "", abi.NewError(abi.NotFound, source+" "+render.Quote(model)+" is not a known model; models.allow has: "+transcript.TruncateText(list, maxList))
}

// Resume runs a further step. It fails with a *guest.Fault.
func Resume(h guest.Host, in *guest.Input) (*abi.StepResult, error) {
	f := &spawnFlow{}
	var err error
	if f.Step, err = flow.Reopen(h, in, f.state.parse); err != nil {
		return nil, err
	}
	if err := f.handle(in.Event); err != nil {
		return nil, err
	}
	return f.Result(f.appendJSON), nil
}
