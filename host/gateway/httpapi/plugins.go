package httpapi

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/ownerapi"
)

// Plugins shows and changes which version of the plugin serves.
type Plugins interface {
	Plugins(ctx context.Context) (*host.Plugins, error)
	Swap(ctx context.Context, c *host.Candidate) (*host.Swapped, error)
	// AwaitPlugin returns the active version when it is not the one with this digest.
	AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error)
}

// originHTTP is the origin of a module that came over the network.
const originHTTP = "HTTP"

func (a *API) addPlugins(p Plugins) {
	list := a.exchange(func(ctx context.Context, _ *input) ([]byte, error) { return encode(p.Plugins(ctx)) })
	post := a.exchangeUpTo(host.MaxModule, func(ctx context.Context, r *input) ([]byte, error) {
		c, err := candidate(r.query, r.body, originHTTP)
		if err == nil && len(c.Wasm) == 0 && !fullDigest.MatchString(c.Digest) {
			err = invalid("the digest %s is not whole: without a module in the body it must have all 64 hexadecimal digits", clip(c.Digest))
		}
		if err != nil {
			return nil, err
		}
		return encode(p.Swap(ctx, c))
	})
	a.routes["/v1/plugins"] = route{
		methods: []string{http.MethodGet, http.MethodPost}, operator: "changing the plugin",
		handler: byMethod{http.MethodGet: list, http.MethodPost: post}.handle,
	}
}

// plugins are the socket's paths of plugins.
func (s *Socket) plugins() []endpoint {
	w := s.owner
	return []endpoint{
		{http.MethodGet, "/v1/plugins", func(ctx context.Context, _ *http.Request, _ host.Wait) ([]byte, error) {
			return encode(w.Plugins(ctx))
		}},
		{http.MethodPost, "/v1/plugins", func(ctx context.Context, r *http.Request, _ host.Wait) ([]byte, error) {
			body, err := readAll(r)
			if err != nil {
				return nil, err
			}
			query := r.URL.Query()
			origin := query.Get(ownerapi.QueryOrigin)
			query.Del(ownerapi.QueryOrigin)
			c, err := candidate(query, body, origin)
			if err != nil {
				return nil, err
			}
			return encode(w.Swap(ctx, c))
		}},
		{http.MethodGet, "/v1/plugins/next", func(ctx context.Context, r *http.Request, wait host.Wait) ([]byte, error) {
			wait.Suspend()
			defer wait.Resume()
			return encode(w.AwaitPlugin(ctx, r.URL.Query().Get(ownerapi.QueryDigest)))
		}},
	}
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
		case ownerapi.QueryDigest:
			c.Digest = last
		case ownerapi.QuerySignature:
			c.Signature, err = base64.RawStdEncoding.DecodeString(standardBase64.Replace(strings.TrimRight(last, "=")))
		case ownerapi.QueryForce:
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
