package ownerapi

import (
	"net/url"
	"strconv"

	"github.com/parley-wasm/parley/host/store"
)

// Names in the query of a list of flows, runs or deliveries.
const (
	QueryStatus  = "status" // may be repeated
	QuerySession = "session"
	QueryFlow    = "flow"
	QuerySince   = "since" // milliseconds
	QueryLimit   = "limit"
)

// QueryCaller is the name, in the query of the list of tools, of whoever they are
// for: an abi.Caller's JSON.
const QueryCaller = "caller"

// Query returns a filter as a query, with its question mark; nil and the zero
// filter are none.
func Query(f *store.Filter) string {
	if f == nil {
		return ""
	}
	q := url.Values{QueryStatus: f.Statuses}
	set := func(name, value, none string) {
		if value != none {
			q.Set(name, value)
		}
	}
	set(QuerySession, f.SessionKey, "")
	set(QueryFlow, f.FlowID, "")
	set(QuerySince, strconv.FormatInt(f.Since, 10), "0")
	set(QueryLimit, strconv.Itoa(f.Limit), "0")
	if s := q.Encode(); s != "" {
		return "?" + s
	}
	return ""
}
