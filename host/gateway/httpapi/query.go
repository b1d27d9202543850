package httpapi

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/ownerapi"
	"github.com/parley-wasm/parley/host/store"
)

var errUnknown = errors.New("is not known")

// parseFilter reads a query as ownerapi.Query writes it.
func parseFilter(r *http.Request) (*store.Filter, error) {
	f := &store.Filter{}
	return f, parseQuery(r, func(name string, values []string, last string) (err error) {
		switch name {
		case ownerapi.QueryStatus:
			f.Statuses = values
		case ownerapi.QuerySession:
			f.SessionKey = last
		case ownerapi.QueryFlow:
			f.FlowID = last
		case ownerapi.QuerySince:
			f.Since, err = strconv.ParseInt(last, 10, 64)
		case ownerapi.QueryLimit:
			f.Limit, err = parseLimit(last)
		default:
			err = errUnknown
		}
		return err
	})
}

// parseTreeQuery reads a query as ownerapi.TreeQuery writes it.
func parseTreeQuery(r *http.Request) (*host.TreeQuery, error) {
	q := &host.TreeQuery{}
	return q, parseQuery(r, func(name string, _ []string, last string) (err error) {
		switch name {
		case ownerapi.QueryKey:
			q.Key = last
		case ownerapi.QueryLimit:
			q.Limit, err = parseLimit(last)
		default:
			err = errUnknown
		}
		return err
	})
}

// parseQuery gives each member of the query to take, with the last of its values.
func parseQuery(r *http.Request, take func(name string, values []string, last string) error) error {
	for name, values := range r.URL.Query() {
		last := values[len(values)-1]
		if err := take(name, values, last); err != nil {
			return invalid("the query's %s=%s is wrong", clip(name), clip(last))
		}
	}
	return nil
}

func parseLimit(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}
