package httpapi

import (
	"errors"
	"net/url"
	"strconv"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/store"
)

var errUnknown = errors.New("unknown query parameter")

// parseFilter parses a query in local.Query's format.
func parseFilter(query url.Values) (*store.Filter, error) {
	f := &store.Filter{}
	return f, parseQuery(query, func(name string, values []string, last string) (err error) {
		switch name {
		case local.QueryStatus:
			f.Statuses = values
		case local.QuerySession:
			f.SessionKey = last
		case local.QueryFlow:
			f.FlowID = last
		case local.QuerySince:
			f.Since, err = strconv.ParseInt(last, 10, 64)
		case local.QueryLimit:
			f.Limit, err = parseLimit(last)
		default:
			err = errUnknown
		}
		return err
	})
}

// parseTreeQuery parses a query in local.TreeQuery's format.
func parseTreeQuery(query url.Values) (*host.TreeQuery, error) {
	q := &host.TreeQuery{}
	return q, parseQuery(query, func(name string, _ []string, last string) (err error) {
		switch name {
		case local.QueryKey:
			q.Key = last
		case local.QueryLimit:
			q.Limit, err = parseLimit(last)
		default:
			err = errUnknown
		}
		return err
	})
}

// parseQuery calls take for each parameter of the query, with all its values and the last
// one.
func parseQuery(query url.Values, take func(name string, values []string, last string) error) error {
	for name, values := range query {
		last := values[len(values)-1]
		if err := take(name, values, last); err != nil {
			return invalid("the query's %s=%s is wrong", truncate(name), truncate(last))
		}
	}
	return nil
}

func parseLimit(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}
