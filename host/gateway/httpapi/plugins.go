package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/gateway/local"
)

// pluginRoutes are the endpoints of the plugin's versions. take is how a swap's module is
// given.
func pluginRoutes(p gateway.Plugins, take func(url.Values, []byte) (*host.Candidate, error)) []endpoint {
	const operator = "changing the plugin"
	return []endpoint{
		{method: http.MethodGet, path: "/v1/plugins", operator: operator, do: func(in *input) ([]byte, error) {
			return encode(p.Plugins(in.Context()))
		}},
		{method: http.MethodPost, path: "/v1/plugins", operator: operator, maxBody: host.MaxModule, do: func(in *input) ([]byte, error) {
			c, err := take(in.query, in.body)
			if err != nil {
				return nil, err
			}
			return encode(p.Swap(in.Context(), c))
		}},
	}
}

// remoteCandidate is the module of a swap over the network.
func remoteCandidate(query url.Values, body []byte) (*host.Candidate, error) {
	c, err := candidate(query, body, "HTTP")
	if err == nil && len(c.Wasm) == 0 && !fullDigest.MatchString(c.Digest) {
		err = invalid("the digest %s is not whole: without a module in the body it must have all 64 hexadecimal digits", clip(c.Digest))
	}
	return c, err
}

// localCandidate is the module of a swap by a process of the user, which says where the
// module came from.
func localCandidate(query url.Values, body []byte) (*host.Candidate, error) {
	origin := query.Get(local.QueryOrigin)
	query.Del(local.QueryOrigin)
	return candidate(query, body, origin)
}

// fullDigest names a module that the store has.
var fullDigest = regexp.MustCompile(`^(sha256:)?[0-9a-fA-F]{64}$`)

// standardBase64 makes standard base64 of what a query may hold: base64url, and base64
// whose plus signs were not escaped, which mean spaces there.
var standardBase64 = strings.NewReplacer(" ", "+", "-", "+", "_", "/")

// candidate is the module in the body, or that with the digest in the query, if the
// body is empty.
func candidate(query url.Values, body []byte, origin string) (*host.Candidate, error) {
	c := &host.Candidate{Wasm: body, Origin: origin}
	for name, values := range query {
		last := values[len(values)-1]
		var err error
		switch name {
		case local.QueryDigest:
			c.Digest = last
		case local.QuerySignature:
			c.Signature, err = base64.RawStdEncoding.DecodeString(standardBase64.Replace(strings.TrimRight(last, "=")))
		case local.QueryForce:
			c.Force, err = strconv.ParseBool(last)
		default:
			err = errUnknown
		}
		if err != nil {
			return nil, invalid("the query's %s=%s is wrong; known are digest (hexadecimal), signature (base64) and force (true)", clip(name), clip(last))
		}
	}
	if len(c.Wasm) == 0 && c.Digest == "" {
		return nil, invalid("the body must be a WebAssembly module, or the query must name the digest of one that is stored")
	}
	return c, nil
}
