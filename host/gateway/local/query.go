package local

import (
	"encoding/base64"
	"net/url"
	"strconv"

	"github.com/parley-wasm/parley/host/store"
)

// Names in the query of a list of flows, runs or deliveries, or of a tree.
const (
	QueryStatus  = "status" // may be repeated
	QuerySession = "session"
	QueryFlow    = "flow"
	QuerySince   = "since" // milliseconds
	QueryLimit   = "limit"
	QueryKey     = "key" // of a tree
)

// QueryCaller is the name, in the query of the list of tools, of whoever they are
// for: an abi.Caller's JSON.
const QueryCaller = "caller"

// Names in the query of a swap.
const (
	QueryDigest    = "digest"    // of the module, or of one that is stored
	QuerySignature = "signature" // base64
	QueryForce     = "force"     // true
	QueryOrigin    = "origin"    // where the module came from; on the socket
)

// SwapQuery returns what a swap is asked for, but for the module, as a query.
func SwapQuery(digest string, signature []byte, force bool, origin string) string {
	q := query{}
	q.text(QueryDigest, digest)
	q.text(QuerySignature, base64.StdEncoding.EncodeToString(signature))
	if force {
		q.text(QueryForce, "true")
	}
	q.text(QueryOrigin, origin)
	return q.encode()
}

// Query returns a filter as a query, with its question mark; nil and the zero
// filter are none.
func Query(f *store.Filter) string {
	if f == nil {
		return ""
	}
	q := query{QueryStatus: f.Statuses}
	q.text(QuerySession, f.SessionKey)
	q.text(QueryFlow, f.FlowID)
	q.number(QuerySince, f.Since)
	q.number(QueryLimit, int64(f.Limit))
	return q.encode()
}

// TreeQuery returns what a tree is asked for as a query, with its question mark;
// the zero value of both is none.
func TreeQuery(key string, limit int) string {
	q := query{}
	q.text(QueryKey, key)
	q.number(QueryLimit, int64(limit))
	return q.encode()
}

// query is a query without members that say nothing.
type query url.Values

func (q query) text(name, value string) {
	if value != "" {
		url.Values(q).Set(name, value)
	}
}

func (q query) number(name string, n int64) {
	if n != 0 {
		q.text(name, strconv.FormatInt(n, 10))
	}
}

func (q query) encode() string {
	if s := url.Values(q).Encode(); s != "" {
		return "?" + s
	}
	return ""
}
