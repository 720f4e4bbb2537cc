package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"example.org/parley"
)

// What a preflight is asked and answered.
const (
	preflightRequest = "Access-Control-Request-Method"
	askedHeaders     = "Access-Control-Request-Headers"

	allowedMethods  = "GET, HEAD, POST, PUT, PATCH, DELETE" // of every route
	maxAskedHeaders = 64                                    // that a page may want to send
	preflightLasts  = "600"                                 // seconds for which a browser remembers the answer

	// shownHeaders are those of answers that pages may read.
	shownHeaders = requestIDHeader + ", Location, Retry-After, " + eventSequenceHeader + ", " + messageHeader
)

// sameOrigin compares the Origin header with the Host header; schemes may differ behind a proxy that ends TLS.
func sameOrigin(origin, host string) bool {
	from, err := url.Parse(origin)
	if err != nil || from.Host == "" {
		return false
	}
	return strings.EqualFold(from.Host, host)
}

// foreignOrigin reports whether a page of another origin sends r.
func foreignOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin != "" && !sameOrigin(origin, r.Host)
}

// allows reports whether pages of an origin may use the server: exactly those of the setting.
func (a *api) allows(origin string) bool { return slices.Contains(a.origins, strings.ToLower(origin)) }

// allowOrigin lets pages of an allowed origin read the answer, and answers their preflights: then it returns true. Such
// a request counts only with a key in a header, so its cookies are dropped.
func (a *api) allowOrigin(w http.ResponseWriter, r *http.Request) bool {
	if len(a.origins) > 0 {
		w.Header().Add("Vary", "Origin")
	}
	origin := r.Header.Get("Origin")
	if !foreignOrigin(r) || !a.allows(origin) {
		return false
	}
	r.Header.Del("Cookie")
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", origin)
	shown := shownHeaders
	if m := a.mountOf(r); m != nil && len(m.Headers) > 0 {
		shown += ", " + strings.Join(m.Headers, ", ")
	}
	header.Set("Access-Control-Expose-Headers", shown)
	if r.Method != http.MethodOptions || r.Header.Get(preflightRequest) == "" || a.admit(r) != nil {
		return false
	}
	header.Set("Access-Control-Allow-Methods", allowedMethods)
	header.Set("Access-Control-Max-Age", preflightLasts)
	if names := headerNames(r.Header.Get(askedHeaders)); len(names) > 0 {
		header.Set("Access-Control-Allow-Headers", strings.Join(names, ", "))
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// headerNames reads the names that a preflight asks for: any but cookies, since the setting trusts the origin with the
// API and headers alone change nothing.
func headerNames(list string) []string {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		plain := name != "" && !strings.ContainsFunc(name, func(c rune) bool {
			return c != '-' && c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9')
		})
		if plain && name != "cookie" && len(names) < maxAskedHeaders {
			names = append(names, name)
		}
	}
	return names
}

// errKeyFromElsewhere refuses a page of another origin that shows no key: neither a cookie nor the connection counts.
func errKeyFromElsewhere() error {
	return parley.Errorf(
		parley.CodeUnauthenticated,
		"A page of another origin must send a key in the header Authorization: Bearer.",
	)
}
