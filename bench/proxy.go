package bench

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// ServeProxy is the reference: the standard library's reverse proxy and nothing
// else, with the connection pool that a fair one needs.
func ServeProxy(listener net.Listener, target *url.URL) error {
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true},
	}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(listener)
}
