package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
)

// workspaceHeader chooses the workspace of the local token's owner.
const workspaceHeader = "Parley-Workspace"

// The bounds of what the gate remembers.
const (
	keyCacheTime   = time.Second // how late this process notices the first key that another one makes
	maxOwners      = 1024        // workspaces whose owner is remembered
	maxBearerBytes = 512
)

// gate finds out who sends a request: the owner of a key, or the server's own user, known by the local token or, on
// loopback while no key exists, by the connection. The engine is authoritative for keys, the kernel for connections.
type gate struct {
	engine   *engine.Engine
	token    [sha256.Size]byte // of the local token; hasToken
	hasToken bool
	since    parley.Time // when the token was made; 0: unknown
	keyless  keyless
	now      func() time.Time

	mu        sync.Mutex                  // guards the rest
	owners    map[string]parley.Principal // by workspace name; they never change
	guarded   bool                        // a key exists
	guardedAt time.Time
	forgotten int                 // counts forget, so that an answer read before it is not kept
	watching  map[*watch]struct{} // open streams
	code      oneTimeCode
}

func newGate(options *Options) *gate {
	g := &gate{
		engine:   options.Engine,
		keyless:  keyless{loopback: options.Loopback, open: options.InsecureLocal, own: options.OwnUser},
		now:      time.Now,
		owners:   map[string]parley.Principal{},
		watching: map[*watch]struct{}{},
	}
	if token := strings.TrimSpace(options.LocalToken); token != "" {
		g.token, g.hasToken, g.since = sha256.Sum256([]byte(token)), true, options.LocalSince
	}
	if options.SignInCode != "" {
		g.code = oneTimeCode{
			sum:   sha256.Sum256([]byte(options.SignInCode)),
			until: time.Now().Add(SignInCodeTime),
			given: true,
		}
	}
	return g
}

// caller is who sends a request.
type caller struct {
	parley.Principal
	local  bool      // the server's own user, who may act in every workspace
	signIn parley.ID // the browser's; zero if something else let the request in
}

// caller finds who sends r, or fails with CodeUnauthenticated.
func (g *gate) caller(r *http.Request) (caller, error) {
	shown, err := shownBy(r)
	if err != nil {
		return caller{}, err
	}
	var refusal error
	if shown.secret != "" {
		who, err := g.holder(r, shown)
		if parley.ErrorCode(err) != parley.CodeUnauthenticated {
			return who, err
		}
		refusal = err
	}
	guarded, err := g.keyExists(r.Context())
	switch {
	case err != nil:
		return caller{}, err
	case g.keyless.loopback && !guarded:
		if err := g.keyless.admit(r); err != nil {
			return caller{}, err
		}
		owner, err := g.owner(r.Context(), "")
		return caller{Principal: owner, local: true}.inNamedWorkspace(r, err)
	case refusal == nil:
		return caller{}, parley.Errorf(
			parley.CodeUnauthenticated,
			"This server asks for a key: send it in the header Authorization: Bearer. An admin makes one with: "+
				"parley keys create",
		)
	}
	return caller{}, refusal
}

// holder finds the owner of a key, the local token, or a sign-in's secret. CodeUnauthenticated if it has none.
func (g *gate) holder(r *http.Request, shown credential) (caller, error) {
	if shown.cookie {
		in, err := g.engine.SignedIn(r.Context(), shown.secret)
		switch {
		case parley.ErrorCode(err) == parley.CodeUnauthenticated,
			err == nil && in.Local && in.CreatedAt < g.since: // by a token that was replaced
			return caller{}, errSignedOut()
		case err == nil && in.Local && r.Header.Get(workspaceHeader) != "":
			owner, err := g.owner(r.Context(), r.Header.Get(workspaceHeader))
			return caller{owner, true, in.ID}, err
		}
		return caller{in.Principal, in.Local, in.ID}.inNamedWorkspace(r, err)
	}
	if sum := sha256.Sum256([]byte(shown.secret)); g.hasToken && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
		owner, err := g.owner(r.Context(), r.Header.Get(workspaceHeader))
		return caller{Principal: owner, local: true}, err
	}
	principal, err := g.engine.Authenticate(r.Context(), shown.secret)
	if parley.ErrorCode(err) == parley.CodeUnauthenticated {
		return caller{}, errUnknownKey()
	}
	return caller{Principal: principal}.inNamedWorkspace(r, err)
}

// inNamedWorkspace refuses a request that names a workspace other than its caller's.
func (c caller) inNamedWorkspace(r *http.Request, err error) (caller, error) {
	if name := r.Header.Get(workspaceHeader); err == nil && name != "" && name != c.Workspace {
		return caller{}, parley.Errorf(
			parley.CodeForbidden,
			"Only the local token may choose a workspace with the header %s.",
			workspaceHeader,
		)
	}
	return c, err
}

// credential is what a request shows: a key or the local token in its header, or a sign-in's secret in a browser's
// cookie. Neither works in the place of the other.
type credential struct {
	secret string // "" if the request shows nothing
	cookie bool
}

func shownBy(r *http.Request) (credential, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		if cookie, err := r.Cookie(signInCookie); err == nil {
			return credential{cookie.Value, true}, nil
		}
		return credential{}, nil
	}
	scheme, bearer, _ := strings.Cut(header, " ")
	bearer = strings.TrimSpace(bearer)
	if !strings.EqualFold(scheme, "Bearer") || bearer == "" || len(bearer) > maxBearerBytes {
		return credential{}, parley.Errorf(
			parley.CodeUnauthenticated,
			"The header Authorization must be: Bearer, a space, and the key.",
		)
	}
	return credential{secret: bearer}, nil
}

// owner is the server's own user in a workspace, made if new.
func (g *gate) owner(ctx context.Context, workspace string) (parley.Principal, error) {
	if workspace == "" {
		workspace = parley.DefaultWorkspace
	}
	g.mu.Lock()
	principal, ok := g.owners[workspace]
	g.mu.Unlock()
	if ok {
		return principal, nil
	}
	principal, err := g.engine.LocalOwner(ctx, workspace)
	if err != nil {
		return parley.Principal{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.owners) >= maxOwners {
		clear(g.owners)
	}
	g.owners[workspace] = principal
	return principal, nil
}

// keyExists asks the store at most once per keyCacheTime.
func (g *gate) keyExists(ctx context.Context) (bool, error) {
	now := g.now()
	g.mu.Lock()
	guarded, at, forgotten := g.guarded, g.guardedAt, g.forgotten
	g.mu.Unlock()
	if !at.IsZero() && now.Sub(at) < keyCacheTime {
		return guarded, nil
	}
	guarded, err := g.engine.HasKeys(ctx)
	if err != nil {
		return false, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.forgotten == forgotten {
		g.guarded, g.guardedAt = guarded, now
	}
	return guarded, nil
}

// forget drops what the gate remembers of keys, after this process made or revoked one or ended a sign-in, and makes
// every open stream ask again whether it may continue.
func (g *gate) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.guardedAt = time.Time{}
	g.forgotten++
	for w := range g.watching {
		w.askAgain()
	}
}

// watch is a stream that lasts only as long as its caller is known.
type watch struct{ askAgain context.CancelFunc }

// watched calls askAgain whenever a key or a sign-in begins or ends in this process, until the returned function is
// called.
func (g *gate) watched(askAgain context.CancelFunc) (over func()) {
	w := &watch{askAgain}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watching[w] = struct{}{}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.watching, w)
	}
}

// stillKnows reports whether an exchange that was let in would be let in now. It stays in if that cannot be found out.
func (g *gate) stillKnows(x *exchange) bool {
	who, err := g.caller(x.r)
	if err != nil {
		return parley.ErrorCode(err) != parley.CodeUnauthenticated
	}
	return who.ID == x.principal.ID
}

// oneTimeCode signs the server's own user in, once, where the system does not tell which user a connection belongs to.
type oneTimeCode struct {
	sum   [sha256.Size]byte
	until time.Time
	given bool
}

// redeem reports whether code is the one-time code, and uses it up. A wrong code uses nothing up.
func (g *gate) redeem(code string) bool {
	sum := sha256.Sum256([]byte(code))
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.code.given || !g.now().Before(g.code.until) || subtle.ConstantTimeCompare(sum[:], g.code.sum[:]) != 1 {
		return false
	}
	g.code.given = false
	return true
}
