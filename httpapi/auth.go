package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley"
	"parley/engine"
)

// workspaceHeader chooses the workspace of the local token's owner.
const workspaceHeader = "Parley-Workspace"

// The bounds of what the gate remembers.
const (
	keyCacheTime   = time.Second // the first key of all, made elsewhere, is noticed this late
	maxOwners      = 1024        // workspaces whose owner is remembered
	maxBearerBytes = 512
)

// gate tells who sends a request: the owner of a key, the machine's own user
// by the local token, or, on loopback while no key exists, anybody. The engine
// is authoritative for keys.
type gate struct {
	engine   *engine.Engine
	token    [sha256.Size]byte // of the local token; hasToken
	hasToken bool
	loopback bool
	now      func() time.Time

	mu        sync.Mutex                  // guards the rest
	owners    map[string]parley.Principal // by workspace name; they never change
	guarded   bool                        // a key exists
	guardedAt time.Time
	forgotten int                 // counts forget, so that an answer read before it is not kept
	watching  map[*watch]struct{} // open streams
}

func newGate(verbs *engine.Engine, token string, loopback bool) *gate {
	g := &gate{engine: verbs, loopback: loopback, now: time.Now, owners: map[string]parley.Principal{}, watching: map[*watch]struct{}{}}
	if token = strings.TrimSpace(token); token != "" {
		g.token, g.hasToken = sha256.Sum256([]byte(token)), true
	}
	return g
}

// caller is who sends a request.
type caller struct {
	parley.Principal
	local bool // the machine's own user, who may act in every workspace
}

// caller finds who sends r, or fails with CodeUnauthenticated.
func (g *gate) caller(r *http.Request) (caller, error) {
	key, err := keyOf(r)
	if err != nil {
		return caller{}, err
	}
	if key != "" {
		who, err := g.holder(r, key)
		if parley.ErrorCode(err) != parley.CodeUnauthenticated {
			return who, err
		}
	}
	guarded, err := g.keyExists(r.Context())
	switch {
	case err != nil:
		return caller{}, err
	case g.loopback && !guarded:
		owner, err := g.owner(r.Context(), "")
		return caller{owner, true}.inNamedWorkspace(r, err)
	case key == "":
		return caller{}, parley.Errorf(parley.CodeUnauthenticated, "This server asks for a key: send it in the header Authorization: Bearer. An admin makes one with: parley keys create")
	default:
		return caller{}, errUnknownKey()
	}
}

// holder finds whose a key, or the local token, is; CodeUnauthenticated for nobody's.
func (g *gate) holder(r *http.Request, key string) (caller, error) {
	if sum := sha256.Sum256([]byte(key)); g.hasToken && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
		owner, err := g.owner(r.Context(), r.Header.Get(workspaceHeader))
		return caller{owner, true}, err
	}
	principal, err := g.engine.Authenticate(r.Context(), key)
	if parley.ErrorCode(err) == parley.CodeUnauthenticated {
		return caller{}, errUnknownKey()
	}
	return caller{principal, false}.inNamedWorkspace(r, err)
}

// inNamedWorkspace refuses a request that names another workspace than its caller's.
func (c caller) inNamedWorkspace(r *http.Request, err error) (caller, error) {
	if name := r.Header.Get(workspaceHeader); err == nil && name != "" && name != c.Workspace {
		return caller{}, parley.Errorf(parley.CodeForbidden, "Only the local token may choose a workspace with the header %s.", workspaceHeader)
	}
	return c, err
}

// keyOf is the key that a request brings: in its header, or by the cookie of a
// browser that signed in.
func keyOf(r *http.Request) (string, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		if cookie, err := r.Cookie(signInCookie); err == nil {
			return cookie.Value, nil
		}
		return "", nil
	}
	scheme, bearer, _ := strings.Cut(header, " ")
	bearer = strings.TrimSpace(bearer)
	if !strings.EqualFold(scheme, "Bearer") || bearer == "" || len(bearer) > maxBearerBytes {
		return "", parley.Errorf(parley.CodeUnauthenticated, "The header Authorization must be: Bearer, a space, and the key.")
	}
	return bearer, nil
}

// owner is the machine's own user in a workspace, made if new.
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

// forget drops what is remembered of keys, after one was made or revoked here, and
// has every open stream ask again whether it may go on.
func (g *gate) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.guardedAt = time.Time{}
	g.forgotten++
	for w := range g.watching {
		w.askAgain()
	}
}

// watch is a stream that goes on only as long as its caller is known.
type watch struct{ askAgain context.CancelFunc }

// watched has askAgain called whenever a key is made or revoked here, until the
// function returned is called.
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

// stillKnows reports whether an exchange that was let in would be let in now. What
// cannot be found out changes nothing.
func (g *gate) stillKnows(x *exchange) bool {
	who, err := g.caller(x.r)
	if err != nil {
		return parley.ErrorCode(err) != parley.CodeUnauthenticated
	}
	return who.ID == x.principal.ID
}
