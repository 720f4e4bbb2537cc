package httpapi

import (
	"net/http"
	"strings"
	"time"

	"example.org/parley"
)

// signInCookie holds the secret of a browser's sign-in. Scripts cannot read it, and only requests of the server's own
// pages carry it.
const signInCookie = "parley_sign_in"

// oldCookie held a key in earlier versions. It is not read any more, and browsers are told to drop it.
const oldCookie = "parley_key"

// SignInCodeTime is how long a start's one-time code is valid.
const SignInCodeTime = 15 * time.Minute

// signInInput is a key, which the browser exchanges for its own secret.
type signInInput struct {
	Key string `json:"key" minLength:"1" maxLength:"512"`
}

func serveSignIn(a *api, x *exchange) error {
	var input signInInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	shown := credential{secret: strings.TrimSpace(input.Key)}
	who, err := a.gate.holder(x.r, shown)
	if parley.ErrorCode(err) == parley.CodeUnauthenticated {
		return a.wrongSecret(x, shown, err)
	}
	if err != nil {
		return err
	}
	if err := a.signIn(x, "signIn", who.Principal); err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, who.Principal)
}

// serveSignInByCode serves the address with the one-time code.
func serveSignInByCode(a *api, x *exchange) error {
	x.person = strings.Contains(x.r.Header.Get("Accept"), "text/html")
	args := x.arguments()
	code := args.text("code")
	if args.err != nil {
		return args.err
	}
	header := x.w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	if x.r.Method != http.MethodGet || x.r.Header.Get("Sec-Purpose") != "" { // a browser that only prefetches
		return x.sendNothing()
	}
	if !a.gate.redeem(code) {
		return a.wrongSecret(x, credential{secret: code}, parley.Errorf(
			parley.CodeUnauthenticated,
			"This code has been used or has expired. Restart the server for a new one, or sign in with the content of "+
				"the file token in its data directory.",
		))
	}
	owner, err := a.gate.owner(x.r.Context(), "")
	if err != nil {
		return err
	}
	if err := a.signIn(x, "signInByCode", owner); err != nil {
		return err
	}
	header.Set("Location", "/")
	x.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// signIn begins a sign-in and gives its secret to the browser.
func (a *api) signIn(x *exchange, action string, principal parley.Principal) error {
	x.principal = principal
	if err := a.begin(x, action); err != nil {
		return err
	}
	secret, err := a.engine.SignIn(x.r.Context(), principal)
	if err != nil {
		return err
	}
	http.SetCookie(x.w, a.cookie(x.r, signInCookie, secret, int(parley.SignInLife/time.Second)))
	x.w.Header().Set("Cache-Control", "no-store")
	return nil
}

// serveSignOut ends the sign-in of the browser's cookie, for all of its pages.
func serveSignOut(a *api, x *exchange) error {
	if cookie, err := x.r.Cookie(signInCookie); err == nil {
		if err := a.signOut(x, cookie.Value); err != nil {
			return err
		}
	}
	http.SetCookie(x.w, a.cookie(x.r, signInCookie, "", -1))
	return x.sendNothing()
}

// signOut ends a secret's sign-in, unless it has ended.
func (a *api) signOut(x *exchange, secret string) error {
	in, err := a.engine.SignedIn(x.r.Context(), secret)
	if parley.ErrorCode(err) == parley.CodeUnauthenticated {
		return nil
	}
	if err != nil {
		return err
	}
	x.principal = in.Principal
	if err := a.begin(x, "signOut"); err != nil {
		return err
	}
	defer a.gate.forget()
	return a.engine.SignOut(x.r.Context(), secret)
}

func serveSignIns(a *api, x *exchange) error {
	list, err := a.engine.SignIns(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, page[parley.SignIn]{Data: list.Data})
}

func serveEndSignIn(a *api, x *exchange) error {
	id, err := x.pathID("sign_in")
	if err != nil {
		return err
	}
	if err := a.engine.EndSignIn(x.r.Context(), x.principal, id); err != nil {
		return err
	}
	a.gate.forget()
	return x.sendNothing()
}

func (a *api) cookie(r *http.Request, name, value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// A lie about it harms the liar alone.
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	}
}

// dropOldCookie tells the browser to drop a cookie that holds a key.
func (a *api) dropOldCookie(w http.ResponseWriter, r *http.Request) {
	if _, err := r.Cookie(oldCookie); err == nil {
		http.SetCookie(w, a.cookie(r, oldCookie, "", -1))
	}
}

func errUnknownKey() error {
	return parley.Errorf(parley.CodeUnauthenticated, "This key is unknown or revoked.")
}

func errSignedOut() error {
	return parley.Errorf(parley.CodeUnauthenticated, "This browser's sign-in has ended. Sign in again.")
}
