package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guarded rejects requests that a web page could make a browser send: requests to a
// loopback address under another name (DNS rebinding), and requests from another
// origin, as MCP requires. Clients other than browsers send no Origin. A proxy on the
// same machine must pass a loopback name as Host.
func (a *API) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if local != nil && isLoopback(local.String()) && !isLoopback(r.Host) {
			a.forbid(w, fmt.Sprintf("the Host header is %.100q, but this address serves localhost only", r.Host))
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && !sameHost(origin, r.Host) {
			a.forbid(w, fmt.Sprintf("requests from the origin %.100q are not accepted", origin))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether a host, with or without port, is a loopback name or address.
func isLoopback(hostport string) bool {
	name := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}
