package local

import (
	"encoding/base64"
	"net/url"
	"strconv"

	"github.com/parley-wasm/parley/host/store"
)

// Query parameters of a list of flows, runs or deliveries, or of a tree.
const (
	QueryStatus  = "status" // may be repeated
	QuerySession = "session"
	QueryFlow    = "flow"
	QuerySince   = "since" // milliseconds
	QueryLimit   = "limit"
	QueryKey     = "key" // of a tree
)

// QueryCaller is the query parameter that restricts the list of tools to those of a
// caller, an abi.Caller in JSON.
const QueryCaller = "caller"

// Query parameters of a swap.
const (
	QueryDigest    = "digest"    // of the module in the body, or of a stored one
	QuerySignature = "signature" // base64
	QueryForce     = "force"     // "true"
	QueryOrigin    = "origin"    // source of the module; only on the socket
)

// SwapQuery returns the query of a swap, with its question mark, or "" if all arguments
// are zero.
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

// Query returns the query of a list, with its question mark, or "" if the filter is nil or
// zero.
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

// TreeQuery returns the query of a tree, with its question mark, or "" if both arguments
// are zero.
func TreeQuery(key string, limit int) string {
	q := query{}
	q.text(QueryKey, key)
	q.number(QueryLimit, int64(limit))
	return q.encode()
}

// query is a URL's query. Its methods omit parameters with zero values.
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
