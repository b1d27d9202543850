package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/store"
)

// Work shows flows, runs, deliveries and trees of sessions, and mends what is
// stuck. Lists are newest first; what has no such id is abi.NotFound.
type Work interface {
	Flows(ctx context.Context, f *store.Filter) ([]*store.Flow, error)
	Runs(ctx context.Context, f *store.Filter) ([]*store.Run, error)
	Deliveries(ctx context.Context, f *store.Filter) ([]*store.Delivery, error)
	Tree(ctx context.Context, q *host.TreeQuery) (*host.Tree, error)
	Flow(ctx context.Context, id string) (*store.Flow, error)
	Run(ctx context.Context, id string) (*store.Run, error)
	// KillRun returns the run as it has ended; one that had before is abi.Conflict.
	KillRun(ctx context.Context, id, why string) (*store.Run, error)
	RetryFlow(ctx context.Context, id string) error
	DropFlow(ctx context.Context, id string) error
	ResendDelivery(ctx context.Context, id string) error
	// WaitFlow returns the flow when it has ended, rests or is parked, and its
	// deliveries have ended too.
	WaitFlow(ctx context.Context, id string) (*store.Flow, error)
	Plugins
}

var _ Work = (*host.Host)(nil)

// work are the socket's paths of flows, runs, deliveries and trees.
func (s *Socket) work() []endpoint {
	w := s.owner
	return []endpoint{
		{http.MethodGet, "/v1/flows", list("flows", w.Flows)},
		{http.MethodGet, "/v1/runs", list("runs", w.Runs)},
		{http.MethodGet, "/v1/deliveries", list("deliveries", w.Deliveries)},
		{http.MethodGet, "/v1/tree", func(ctx context.Context, r *http.Request, _ host.Wait) ([]byte, error) {
			q, err := parseTreeQuery(r)
			if err != nil {
				return nil, err
			}
			return encode(w.Tree(ctx, q))
		}},
		{http.MethodGet, "/v1/flows/{id}", func(ctx context.Context, r *http.Request, _ host.Wait) ([]byte, error) {
			return encode(w.Flow(ctx, r.PathValue("id")))
		}},
		{http.MethodGet, "/v1/flows/{id}/end", func(ctx context.Context, r *http.Request, wait host.Wait) ([]byte, error) {
			wait.Suspend()
			defer wait.Resume()
			return encode(w.WaitFlow(ctx, r.PathValue("id")))
		}},
		{http.MethodGet, "/v1/runs/{id}", func(ctx context.Context, r *http.Request, _ host.Wait) ([]byte, error) {
			return encode(w.Run(ctx, r.PathValue("id")))
		}},
		{http.MethodPost, "/v1/runs/{id}/kill", func(ctx context.Context, r *http.Request, wait host.Wait) ([]byte, error) {
			body, err := readAll(r)
			if err != nil {
				return nil, err
			}
			var why string
			if err := readBody(body, fields{"why": text(&why)}); err != nil {
				return nil, err
			}
			wait.Suspend()
			defer wait.Resume()
			return encode(w.KillRun(ctx, r.PathValue("id"), why))
		}},
		{http.MethodPost, "/v1/flows/{id}/retry", change(w.RetryFlow)},
		{http.MethodPost, "/v1/flows/{id}/drop", change(w.DropFlow)},
		{http.MethodPost, "/v1/deliveries/{id}/resend", change(w.ResendDelivery)},
	}
}

// list answers {name: rows}.
func list[T any](name string, rows func(context.Context, *store.Filter) ([]T, error)) func(context.Context, *http.Request, host.Wait) ([]byte, error) {
	return func(ctx context.Context, r *http.Request, _ host.Wait) ([]byte, error) {
		f, err := parseFilter(r)
		if err != nil {
			return nil, err
		}
		found, err := rows(ctx, f)
		if found == nil {
			found = []T{} // an empty list, not null
		}
		return encode(map[string][]T{name: found}, err)
	}
}

func change(do func(context.Context, string) error) func(context.Context, *http.Request, host.Wait) ([]byte, error) {
	return func(ctx context.Context, r *http.Request, _ host.Wait) ([]byte, error) {
		return []byte("{}"), do(ctx, r.PathValue("id"))
	}
}

func encode[T any](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
