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

// pluginRoutes are the endpoints for the plugin's versions. parse returns the module of a
// swap request.
func pluginRoutes(p gateway.Plugins, parse func(url.Values, []byte) (*host.PluginFile, error)) []endpoint {
	const operator = "changing the plugin"
	return []endpoint{
		{method: http.MethodGet, path: "/v1/plugins", operator: operator, do: func(in *input) ([]byte, error) {
			return encode(p.Plugins(in.Context()))
		}},
		{method: http.MethodPost, path: "/v1/plugins", operator: operator, maxBody: host.MaxModule, do: func(in *input) ([]byte, error) {
			c, err := parse(in.query, in.body)
			if err != nil {
				return nil, err
			}
			return encode(p.Swap(in.Context(), c))
		}},
	}
}

// remoteModule returns the module of a swap request from the network.
func remoteModule(query url.Values, body []byte) (*host.PluginFile, error) {
	c, err := parseModule(query, body, "HTTP")
	if err == nil && len(c.Wasm) == 0 && !fullDigest.MatchString(c.Digest) {
		err = invalid("the digest %s is incomplete: without a module in the body it must have all 64 hexadecimal digits", truncate(c.Digest))
	}
	return c, err
}

// localModule returns the module of a swap request from a process of the user, whose
// query contains the module's origin.
func localModule(query url.Values, body []byte) (*host.PluginFile, error) {
	origin := query.Get(local.QueryOrigin)
	query.Del(local.QueryOrigin)
	return parseModule(query, body, origin)
}

// fullDigest matches an unabbreviated digest.
var fullDigest = regexp.MustCompile(`^(sha256:)?[0-9a-fA-F]{64}$`)

// standardBase64 converts the value of a query parameter to standard base64. It accepts
// base64url, and base64 with unescaped plus signs, which a query decodes to spaces.
var standardBase64 = strings.NewReplacer(" ", "+", "-", "+", "_", "/")

// parseModule returns the module in the body, or, if the body is empty, a reference to the
// stored module with the digest in the query.
func parseModule(query url.Values, body []byte, origin string) (*host.PluginFile, error) {
	c := &host.PluginFile{Wasm: body, Origin: origin}
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
			return nil, invalid("the query's %s=%s is wrong; known are digest (hexadecimal), signature (base64) and force (true)", truncate(name), truncate(last))
		}
	}
	if len(c.Wasm) == 0 && c.Digest == "" {
		return nil, invalid("the body must be a WebAssembly module, or the query must contain the digest of a stored one")
	}
	return c, nil
}
