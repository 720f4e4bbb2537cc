package httpapi

import (
	"net/http"
	"strings"

	"parley"
)

// signInCookie holds the key of a browser that signed in. Scripts cannot read it,
// and it comes with requests of the server's own pages alone.
const signInCookie = "parley_key"

// signInSeconds is how long a browser stays signed in: 30 days.
const signInSeconds = 30 * 24 * 60 * 60

// signIn is a key, to be kept by the browser.
type signIn struct {
	Key string `json:"key" minLength:"1" maxLength:"512"`
}

func serveSignIn(a *api, x *exchange) error {
	var input signIn
	if err := checked(a, x, &input); err != nil {
		return err
	}
	key := strings.TrimSpace(input.Key)
	if !cookieSafe(key) {
		return errUnknownKey()
	}
	who, err := a.gate.holder(x.r, key)
	if err != nil {
		return err
	}
	http.SetCookie(x.w, a.signInCookie(x.r, key, signInSeconds))
	x.w.Header().Set("Cache-Control", "no-store")
	return sendJSON(x, http.StatusOK, who.Principal)
}

func serveSignOut(a *api, x *exchange) error {
	http.SetCookie(x.w, a.signInCookie(x.r, "", -1))
	return x.sendNothing()
}

func (a *api) signInCookie(r *http.Request, key string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: signInCookie, Value: key, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	}
}

// cookieSafe reports whether a key stands in a cookie as it is; all that were made here do.
func cookieSafe(key string) bool {
	return key != "" && len(key) <= maxBearerBytes && !strings.ContainsFunc(key, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`",;\`, r)
	})
}

func errUnknownKey() error {
	return parley.Errorf(parley.CodeUnauthenticated, "This key is not known here, or it was revoked.")
}
