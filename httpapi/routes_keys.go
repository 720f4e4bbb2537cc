package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// keyRoutes returns the routes that make keys, and sign browsers in.
func keyRoutes() []route {
	return []route{
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/principal"},
			name:    "getPrincipal",
			tag:     "keys",
			says:    "Who am I",
			about:   "The principal that this request acts as.",
			serve:   servePrincipal,
			answers: found[whoAmI]("The principal.", whoAmIExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/sign-in"},
			name:   "signIn",
			tag:    "keys",
			open:   true,
			signs:  true,
			says:   "Sign a browser in",
			about: "The browser gets a cookie with its own secret, not the key. Scripts cannot read it, and pages " +
				"of other sites do not send it. It ends with the key, when the sign-in is ended here, after 7 days " +
				"without use, and after 30 days. Programs send keys in the header Authorization instead.",
			input:   inputOf[signInInput](`{"key":"pk_…"}`),
			serve:   serveSignIn,
			answers: found[parley.Principal]("The key's principal.", principalExample),
		},
		{
			method:  http.MethodDelete,
			paths:   []string{"/v1/sign-in"},
			name:    "signOut",
			tag:     "keys",
			open:    true,
			signs:   true,
			says:    "Sign a browser out",
			about:   "Ends the cookie's sign-in and its streams; the key stays valid.",
			serve:   serveSignOut,
			answers: nothing("Signed out."),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/sign-ins"},
			name:    "listSignIns",
			tag:     "keys",
			verb:    engine.ReadSignIns,
			says:    "List sign-ins",
			about:   "The signed-in browsers, newest first: your own; for admins, all of the workspace.",
			serve:   serveSignIns,
			answers: listed[parley.SignIn](signInExample),
		},
		{
			method: http.MethodDelete,
			paths:  []string{"/v1/sign-ins/{sign_in}"},
			name:   "endSignIn",
			tag:    "keys",
			verb:   engine.EndSignIns,
			says:   "End a sign-in",
			about: "The browser has to sign in again; its streams end, on other processes of a PostgreSQL database " +
				"with their next heartbeat.",
			serve:   serveEndSignIn,
			answers: nothing("Ended."),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/sign-in"},
			name:   "signInByCode",
			tag:    "keys",
			open:   true,
			signs:  true,
			says:   "Sign a browser in by the one-time code",
			about: "`parley serve` prints this address with a code where the system cannot tell which user a " +
				"connection belongs to. The code works once, for 15 minutes.",
			query: []parameter{text("code", "The code.")},
			serve: serveSignInByCode,
			answers: []answer{
				{
					status:  http.StatusSeeOther,
					about:   "Signed in; redirects to the page.",
					headers: []parameter{locationHeader()},
				},
			},
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/keys"},
			name:   "createKey",
			tag:    "keys",
			verb:   engine.WriteKeys,
			says:   "Create a key",
			about: "Only this answer has the secret. Only the machine's own user may name another workspace. Once " +
				"there is a key, every request needs one.",
			input:   inputOf[keyInput](`{"name":"ci","role":"member"}`),
			serve:   serveCreateKey,
			answers: created[engine.NewKey]("The key, with its secret.", newKeyExample),
			fails:   conflicting(),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/keys"},
			name:    "listKeys",
			tag:     "keys",
			verb:    engine.ReadKeys,
			says:    "List keys",
			about:   "Newest first, without secrets.",
			serve:   serveKeys,
			answers: listed[parley.Key](keyExample),
		},
		{
			method: http.MethodDelete,
			paths:  []string{"/v1/keys/{key}"},
			name:   "revokeKey",
			tag:    "keys",
			verb:   engine.WriteKeys,
			says:   "Revoke a key",
			about: "It stops working at once, and its streams end; on other processes of a PostgreSQL database " +
				"within two seconds, streams with their next heartbeat.",
			serve:   serveRevokeKey,
			answers: nothing("Revoked."),
		},
	}
}
