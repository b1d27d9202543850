package host_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

const (
	perParent     = 5
	maxConcurrent = 8
)

// childAgents runs the children. The test decides when and how each of them ends.
type childAgents struct {
	mu         sync.Mutex
	working    int
	maxWorking int
	began      []string               // runs begun since the last call of sinceLast
	release    map[string]chan string // by run: receives "succeed" or "fail"
}

// child executes a child's own run.
func (c *childAgents) child(ctx context.Context, turn *runner.Turn) (string, error) {
	c.mu.Lock()
	c.working++
	c.maxWorking = max(c.maxWorking, c.working)
	c.began = append(c.began, turn.RunID)
	release := c.release[turn.RunID]
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.working--
		c.mu.Unlock()
	}()
	select {
	case how := <-release:
		if how == "fail" {
			return "", errors.New("failed: " + turn.Message)
		}
		return "done: " + turn.Message, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// run executes a child's own run or its announce turn. The announce turns of even tasks
// fail, so that the report has only the child's own reply; the others rephrase the reply.
func (c *childAgents) run(ctx context.Context, turn *runner.Turn) (string, error) {
	if !isAnnounceTurn(turn) {
		return c.child(ctx, turn)
	}
	_, task, _ := strings.Cut(turn.Message, "Task:\n")
	task, _, _ = strings.Cut(task, "\n")
	if strings.HasSuffix(task, "even") {
		return "", errors.New("no announce")
	}
	return "Status: success\n**Result:** in other words " + task + "\nNotes: noted " + task, nil
}

// sinceLast returns the runs begun since the last call and the number of runs in
// progress.
func (c *childAgents) sinceLast() (began []string, working int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began, c.began = c.began, nil
	return began, c.working
}

// spawnedChild is a child and its expected end.
type spawnedChild struct {
	spawned
	parent, task string
	deletes      bool
	status       string // status of its ended run
}

func parentKey(i int) string { return fmt.Sprintf("agent:main:parent-%02d", i) }

// spawnAll lets all parents spawn concurrently. Each spawns its maximum number of
// children, and once more, which must be refused.
func spawnAll(t *testing.T, h *host.Host, parents int) map[string]*spawnedChild {
	t.Helper()
	var mu sync.Mutex
	children := map[string]*spawnedChild{}
	var all sync.WaitGroup
	for p := range parents {
		all.Go(func() {
			for i := range perParent {
				m := &spawnedChild{parent: parentKey(p), deletes: i == 1, status: abi.RunDone}
				m.task = fmt.Sprintf("task %02d-%d %s", p, i, [...]string{"even", "odd"}[i%2])
				args := fmt.Sprintf(`{"task":%q,"label":%q}`, m.task, m.task)
				if m.deletes {
					args = fmt.Sprintf(`{"task":%q,"cleanup":"delete"}`, m.task)
				}
				switch i {
				case 2:
					m.status = abi.RunFailed
				case 3:
					m.status = abi.RunKilled
				}
				m.spawned = spawn(t, h, session(m.parent), args)
				mu.Lock()
				children[m.run] = m
				mu.Unlock()
			}
			answer, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolSpawn, Caller: session(parentKey(p)), Args: []byte(`{"task":"one more"}`)})
			if err != nil || answer.Code != abi.Forbidden || answer.FlowID != "" || !strings.Contains(string(answer.Result), "agents.defaults.subagents.maxChildrenPerAgent is 5") {
				t.Errorf("the sixth child of a parent: %+v, %v", answer, err)
			}
		})
	}
	all.Wait()
	return children
}

// warmInstances lets all parents call a tool concurrently, so that the plugin instances
// exist before the test measures the memory per child.
func warmInstances(t *testing.T, h *host.Host, parents int) {
	var all sync.WaitGroup
	for p := range parents {
		all.Go(func() {
			if _, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolSpawn, Caller: session(parentKey(p)), Args: []byte(`{"task":"none","agentId":"nobody"}`)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// childRuns returns the children's runs with a status, in the order of their acceptance.
func childRuns(t *testing.T, h *host.Host, status string, want int) []*store.Run {
	t.Helper()
	runs, err := h.Runs(t.Context(), &store.Filter{Statuses: []string{status}, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	runs = slices.DeleteFunc(runs, func(r *store.Run) bool { return r.Group != abi.GroupSubagent })
	if len(runs) != want {
		t.Fatalf("%d children are %s, want %d", len(runs), status, want)
	}
	slices.SortFunc(runs, func(x, y *store.Run) int { return int(x.Seq - y.Seq) })
	return runs
}

// heap returns the heap bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // frees what finalizers have released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Two hundred children of forty parents run in the order of their acceptance, at most
// eight at a time, and all of them report (S5.2, S5.3, S5.5, S5.7). Then they are
// archived, deleted or kept, as the settings require.
func TestManyChildren(t *testing.T) {
	for _, c := range []struct{ parents, archive int }{{40, 60}, {3, 0}} {
		t.Run(fmt.Sprintf("%d parents, archiveAfterMinutes %d", c.parents, c.archive), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testManyChildren(t, c.parents, c.archive) })
		})
	}
}

func testManyChildren(t *testing.T, parents, archive int) {
	db, c, w := openTestDB(t, dbPath(t)), &childAgents{release: map[string]chan string{}}, &captureSink{}
	for p := range parents {
		putSessions(t, db, telegramSession(parentKey(p)))
	}
	h := abortOnCleanup(t, newHost(t, db, fmt.Sprintf(`{agents: {defaults: {subagents: {maxConcurrent: %d, archiveAfterMinutes: %d}}}}`, maxConcurrent, archive), c.run, w.install))
	warmInstances(t, h, parents)
	before := heap()
	children := spawnAll(t, h, parents)
	queued := childRuns(t, h, abi.RunQueued, parents*perParent)
	stored := heap() - before
	for _, r := range queued {
		c.release[r.ID] = make(chan string, 1)
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	inLanes := heap() - before
	t.Logf("heap of %d queued children: %d KiB before the host is started, %d B each; %d KiB with %d of them running, %d B each",
		len(queued), stored>>10, stored/int64(len(queued)), inLanes>>10, maxConcurrent, inLanes/int64(len(queued)))

	// The first maxConcurrent runs begin together, in any order. Then the next run begins
	// whenever a run ends.
	began, _ := c.sinceLast()
	for i, r := range queued {
		if i < maxConcurrent && !slices.Contains(began, r.ID) || i == 0 && len(began) != maxConcurrent {
			t.Fatalf("%d runs begin first; run %d of %v is among them: %t", len(began), i+1, began, slices.Contains(began, r.ID))
		}
	}
	for i, r := range queued {
		switch children[r.ID].status {
		case abi.RunKilled:
			if _, err := h.AbortRun(t.Context(), r.ID, "stop: "+children[r.ID].task); err != nil {
				t.Fatal(err)
			}
		case abi.RunFailed:
			c.release[r.ID] <- "fail"
		default:
			c.release[r.ID] <- "succeed"
		}
		synctest.Wait()
		began, working := c.sinceLast()
		left := queued[min(i+maxConcurrent, len(queued)):]
		if working != min(maxConcurrent, len(queued)-i-1) || len(began) != min(1, len(left)) || len(began) == 1 && began[0] != left[0].ID {
			t.Fatalf("after %d runs have ended, %d work and %v begin; want %v next", i+1, working, began, left[:min(1, len(left))])
		}
	}
	if c.maxWorking != maxConcurrent {
		t.Errorf("%d runs worked at once, want %d", c.maxWorking, maxConcurrent)
	}

	reports := map[string]report{} // by child
	for _, m := range children {
		awaitStatus(t, h, m.flow)
	}
	for _, post := range w.take() {
		r := parseReport(t, post.Text)
		_, child, _ := strings.Cut(r.stats, " · session ")
		child, _, _ = strings.Cut(child, " ")
		if _, twice := reports[child]; twice {
			t.Errorf("announced twice: %q", post.Text)
		}
		reports[child] = r
		i := slices.IndexFunc(queued, func(r *store.Run) bool { return r.SessionKey == child })
		if i < 0 || post.To != children[queued[i].ID].parent || post.Channel != "telegram" {
			t.Errorf("announced to %+v: %q", post.Target, post.Text)
		}
	}
	if len(reports) != len(children) {
		t.Errorf("%d children are announced, want %d", len(reports), len(children))
	}
	for _, m := range children {
		m.check(t, reports[m.child])
	}
	if left := childRuns(t, h, abi.RunQueued, 0); len(left) > 0 {
		t.Errorf("%d runs are still queued", len(left))
	}

	time.Sleep(61 * time.Minute) // bubble time
	synctest.Wait()
	for _, m := range children {
		m.checkEnd(t, h, db, archive)
	}
	if late := w.take(); len(late) > 0 {
		t.Errorf("announced later: %q", late)
	}
}

// check checks the child's report.
func (m *spawnedChild) check(t *testing.T, got report) {
	t.Helper()
	want := report{status: "success", result: "done: " + m.task, notes: "-"}
	reason := ""
	switch m.status {
	case abi.RunFailed:
		want.status, reason, want.result = "error", "failed: "+m.task, "-"
	case abi.RunKilled:
		want.status, reason, want.result = "killed", "stop: "+m.task, "-"
	}
	if reason != "" {
		want.notes = reason
	}
	if strings.HasSuffix(m.task, "odd") {
		want.result, want.notes = "in other words "+m.task, "noted "+m.task
		if reason != "" {
			want.notes += " (" + reason + ")"
		}
	}
	want.stats = got.stats
	if got != want || !strings.HasPrefix(got.stats, "runtime 0s · ") {
		t.Errorf("%s: reported %+v, want %+v", m.task, got, want)
	}
}

// checkEnd checks the child's session and flow after its archive time.
func (m *spawnedChild) checkEnd(t *testing.T, h *host.Host, db store.Store, archive int) {
	t.Helper()
	f, err := h.Flow(t.Context(), m.flow)
	if err != nil {
		t.Fatal(err)
	}
	want := "done: announce queued: delivered"
	switch {
	case m.deletes:
		want = "done: child deleted; announce queued: delivered"
	case archive > 0:
		want = "done: child archived; announce queued: delivered"
	}
	if f.Status != store.FlowDone || f.StatusText() != want {
		t.Errorf("%s: the flow is %s, %q; want %q", m.task, f.Status, f.StatusText(), want)
	}
	s := getSession(t, db, m.child)
	switch {
	case m.deletes:
		if s != nil {
			t.Errorf("%s: the child is not deleted", m.task)
		}
	case s == nil || s.Status != m.status || (s.ArchivedAt > 0) != (archive > 0) || s.SpawnedBy != m.parent:
		t.Errorf("%s: the child is %+v", m.task, s)
	}
}

// Of one hundred concurrent spawns of one parent, the permitted number is accepted. The
// others are refused with the name of the setting.
func TestConcurrentSpawns(t *testing.T) {
	t.Parallel()
	const calls, most = 100, 5
	db := openTestDB(t, dbPath(t))
	h := abortOnCleanup(t, startHost(t, db, `{}`, func(ctx context.Context, _ *runner.Turn) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}))
	type outcome struct {
		answer *host.Answer
		err    error
	}
	outcomes, start := make(chan outcome), make(chan struct{})
	for i := range calls {
		go func() {
			<-start
			answer, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolSpawn, Caller: session("agent:main:a"), ID: fmt.Sprint(i), Args: []byte(`{"task":"try"}`)})
			outcomes <- outcome{answer, err}
		}()
	}
	close(start)
	accepted, forbidden := 0, 0
	for range calls {
		switch o := <-outcomes; {
		case o.err != nil:
			t.Errorf("a call without an answer: %v", o.err)
		case o.answer.Code == "":
			accepted++
		case o.answer.Code == abi.Forbidden && o.answer.FlowID == "" &&
			strings.Contains(string(o.answer.Result), "the session has 5 children at work (agents.defaults.subagents.maxChildrenPerAgent is 5); do the task here, or spawn again when one has ended"):
			forbidden++
		default:
			t.Errorf("answered %s", o.answer.Result)
		}
	}
	if accepted != most || forbidden != calls-most {
		t.Errorf("%d accepted and %d forbidden, want %d and %d", accepted, forbidden, most, calls-most)
	}
	tree, err := h.Tree(t.Context(), &host.TreeQuery{Key: "agent:main:a", Limit: calls})
	if err != nil || len(tree.Roots[0].Children) != most {
		t.Errorf("the parent's tree: %+v, %v", tree, err)
	}
	flows, err := h.Flows(t.Context(), &store.Filter{})
	if err != nil || len(flows) != most {
		t.Errorf("%d flows, %v", len(flows), err)
	}
}
