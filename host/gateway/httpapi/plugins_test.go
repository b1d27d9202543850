package httpapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/host"
)

func TestPlugins(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	const op = "Authorization: Bearer op"
	r := request{"GET", "/v1/plugins", []string{op}, nil}.send(t, url)
	if r.status != 200 || !strings.HasPrefix(r.body, `{"versions":[{"digest":"one",`) {
		t.Errorf("the list is %d %s", r.status, r.body)
	}
	// Larger than the default limit for bodies.
	big := strings.Repeat("m", defaultMaxBody+1)
	r = request{"POST", "/v1/plugins?digest=AB&force=true&signature=AAE%3D", []string{op}, strings.NewReader(big)}.send(t, url)
	if r.status != 200 || !strings.HasPrefix(r.body, `{"before":"one","active":{"digest":"two"`) {
		t.Errorf("the swap is %d %s", r.status, r.body)
	}
	want := []host.PluginFile{{Wasm: []byte(big), Digest: "AB", Force: true, Signature: []byte{0, 1}, Origin: "HTTP"}}
	if d := cmp.Diff(want, f.swapped); d != "" {
		t.Error(d)
	}
	for _, c := range []struct {
		name, method, query, body, token string
		status                           int
		kind, message                    string
	}{
		{"not a module", "POST", "", "bad", "op", 400, kindInvalid, "not a WebAssembly module"},
		{"neither module nor digest", "POST", "", "", "op", 400, kindInvalid, "the body must be a WebAssembly module"},
		{"a shortened digest", "POST", "?digest=0123456789ab", "", "op", 400, kindInvalid, "all 64 hexadecimal digits"},
		{"not a digest", "POST", "?digest=" + strings.Repeat("x", 64), "", "op", 400, kindInvalid, "all 64 hexadecimal digits"},
		{"an origin from the client", "POST", "?origin=/etc", "x", "op", 400, kindInvalid, "the query's origin=/etc is wrong"},
		{"not base64", "POST", "?signature=%25", "x", "op", 400, kindInvalid, "the query's signature=% is wrong"},
		{"too large", "POST", "", strings.Repeat("m", host.MaxModule+1), "op", 413, kindTooLarge, "longer than"},
		{"a session", "POST", "", "x", "ops", 403, kindForbidden, "changing the plugin requires the operator's token"},
		{"a session lists versions", "GET", "", "", "ops", 403, kindForbidden, "requires the operator's token"},
		{"a run", "POST", "", "x", "run", 403, kindForbidden, "requires the operator's token"},
		{"an unknown token", "POST", "", "x", "none", 401, kindUnauthorized, ""},
		{"another method", "PUT", "", "x", "op", 405, kindMethod, "use GET, POST"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.swapped = nil
			r := request{c.method, "/v1/plugins" + c.query, []string{"Authorization: Bearer " + c.token}, strings.NewReader(c.body)}.send(t, url)
			if r.status != c.status {
				t.Errorf("status %d, want %d: %s", r.status, c.status, r.body)
			}
			isFailure(t, r, c.kind, c.message)
			if c.body != "bad" && f.swapped != nil {
				t.Error("the swap was executed")
			}
		})
	}
}

// Every base64 variant of a signature is accepted, and a stored version is identified by
// its full digest.
func TestSwapQuery(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	signature := []byte{0xfb, 0xef, 0xbe, 0xff, 0xff, 0xff, 1} // ++++////AQ==
	digest := strings.Repeat("0aB", 21) + "0"
	for _, query := range []string{
		"signature=%2B%2B%2B%2B%2F%2F%2F%2FAQ%3D%3D",
		"signature=++++////AQ==",
		"signature=----____AQ==",
		"signature=----____AQ",
	} {
		f.swapped = nil
		r := request{"POST", "/v1/plugins?digest=" + digest + "&" + query, []string{"Authorization: Bearer op"}, nil}.send(t, url)
		want := []host.PluginFile{{Wasm: []byte{}, Digest: digest, Signature: signature, Origin: "HTTP"}}
		if d := cmp.Diff(want, f.swapped); r.status != 200 || d != "" {
			t.Errorf("%s: %d %s\n%s", query, r.status, r.body, d)
		}
	}
}
