package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/store"
)

// workRoutes are the endpoints for flows, runs, deliveries and trees, for the local user.
func workRoutes(w gateway.Work) []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: "/v1/flows", do: list("flows", w.Flows)},
		{method: http.MethodGet, path: "/v1/runs", do: list("runs", w.Runs)},
		{method: http.MethodGet, path: "/v1/deliveries", do: list("deliveries", w.Deliveries)},
		{method: http.MethodGet, path: "/v1/tree", do: func(in *input) ([]byte, error) {
			q, err := parseTreeQuery(in.query)
			if err != nil {
				return nil, err
			}
			return encode(w.Tree(in.Context(), q))
		}},
		{method: http.MethodGet, path: "/v1/flows/{id}", do: func(in *input) ([]byte, error) {
			return encode(w.Flow(in.Context(), in.pathID))
		}},
		{method: http.MethodGet, path: "/v1/flows/{id}/end", do: func(in *input) ([]byte, error) {
			return encode(gateway.Await(in.Request, func(ctx context.Context) (*store.Flow, error) {
				return w.WaitFlow(ctx, in.pathID)
			}))
		}},
		{method: http.MethodGet, path: "/v1/runs/{id}", do: func(in *input) ([]byte, error) {
			return encode(w.Run(in.Context(), in.pathID))
		}},
		{method: http.MethodPost, path: "/v1/flows/{id}/retry", do: change(w.RetryFlow)},
		{method: http.MethodPost, path: "/v1/flows/{id}/drop", do: change(w.DropFlow)},
		{method: http.MethodPost, path: "/v1/deliveries/{id}/resend", do: change(w.ResendDelivery)},
	}
}

// list answers with {name: rows}.
func list[T any](name string, rows func(context.Context, *store.Filter) ([]T, error)) operation {
	return func(in *input) ([]byte, error) {
		f, err := parseFilter(in.query)
		if err != nil {
			return nil, err
		}
		found, err := rows(in.Context(), f)
		if found == nil {
			found = []T{} // an empty list, not null
		}
		return encode(map[string][]T{name: found}, err)
	}
}

func change(do func(context.Context, string) error) operation {
	return func(in *input) ([]byte, error) { return []byte("{}"), do(in.Context(), in.pathID) }
}

func encode[T any](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
