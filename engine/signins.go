package engine

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// signInPrefix begins the secrets of sign-ins and of no key: a stolen one is useless in a program's header, and a key
// is useless in a cookie.
const signInPrefix = "ps_"

// SignInList lists the valid sign-ins, newest first.
type SignInList struct {
	Data []parley.SignIn `json:"data"`
}

// SignIn begins a sign-in of a principal who has shown a key. Its secret is for the browser's cookie only.
func (e *Engine) SignIn(ctx context.Context, principal parley.Principal) (secret string, err error) {
	ctx, call, err := e.enter(ctx, principal, "signIn", EndSignIns) // those who may end theirs may begin one
	if err != nil {
		return "", err
	}
	defer call.end(ctx, &err)
	if principal.RequestsPerMinute <= 0 { // other keys are already counted
		wait, err := e.store.TakeRate(
			store.WithAudit(ctx, nil),
			principal.WorkspaceID,
			principal.ID,
			parley.SignInsPerMinute,
		)
		if err == nil && wait > 0 {
			err = parley.TooManySignIns(wait)
		}
		if err != nil {
			return "", err
		}
	}
	if secret, err = newSecret(signInPrefix); err != nil {
		return "", err
	}
	id, now := parley.NewID(), parley.Now()
	call.about(on(id))
	return secret, e.store.CreateSignIn(ctx, store.NewSignIn{
		SignIn: parley.SignIn{
			ID: id, WorkspaceID: principal.WorkspaceID, PrincipalID: principal.ID, PrincipalName: principal.Name,
			CreatedAt: now, LastUsedAt: now, ExpiresAt: now + parley.Time(parley.SignInLife.Milliseconds()),
		},
		Hash: parley.HashOf([]byte(secret)),
	})
}

// SignedIn finds the principal of a sign-in's secret. It returns CodeUnauthenticated if the sign-in has ended; an end
// in another process takes effect within two seconds, one in this process immediately.
func (e *Engine) SignedIn(ctx context.Context, secret string) (store.SignedIn, error) {
	if len(secret) > maxSecretBytes || !strings.HasPrefix(secret, signInPrefix) {
		return store.SignedIn{}, parley.Errorf(
			parley.CodeUnauthenticated,
			"This browser is not signed in any more. Sign in again.",
		)
	}
	hash, at := parley.HashOf([]byte(secret)), time.Now()
	in, cleared, ok := e.signedIn.find(hash, at)
	if ok {
		return in, nil
	}
	now := parley.TimeOf(at)
	in, err := e.store.SignedIn(ctx, hash, now)
	if err != nil {
		return store.SignedIn{}, err
	}
	in.Principal.Local = in.Local
	if now-in.LastUsedAt >= parley.Time(parley.SignInTouch.Milliseconds()) {
		if err := e.store.TouchSignIn(ctx, in.WorkspaceID, in.ID, now); err != nil { // it may only end earlier
			e.log.LogAttrs(ctx, slog.LevelWarn, "the use of a sign-in was not noted", slog.String("error", err.Error()))
		}
	}
	e.signedIn.add(hash, in, at, cleared)
	return in, nil
}

// SignOut ends the sign-in of a secret; ending it twice is fine.
func (e *Engine) SignOut(ctx context.Context, secret string) (err error) {
	in, err := e.SignedIn(ctx, secret)
	if parley.ErrorCode(err) == parley.CodeUnauthenticated {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, call, err := e.enter(ctx, in.Principal, "signOut", EndSignIns, on(in.ID))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	return e.endSignIn(ctx, in.WorkspaceID, in.PrincipalID, in.ID)
}

// SignIns lists the principal's own sign-ins; for admins, the workspace's.
func (e *Engine) SignIns(ctx context.Context, principal parley.Principal) (_ SignInList, err error) {
	ctx, call, err := e.enter(ctx, principal, "listSignIns", ReadSignIns)
	if err != nil {
		return SignInList{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	list, err := e.store.SignIns(ctx, scope.WorkspaceID, scope.ViewerID, parley.Now())
	return SignInList{Data: orEmpty(list)}, err
}

// EndSignIn ends one of the principal's own sign-ins; for admins, any of the workspace.
func (e *Engine) EndSignIn(ctx context.Context, principal parley.Principal, id parley.ID) (err error) {
	ctx, call, err := e.enter(ctx, principal, "endSignIn", EndSignIns, on(id))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	return e.endSignIn(ctx, scope.WorkspaceID, scope.ViewerID, id)
}

func (e *Engine) endSignIn(ctx context.Context, workspaceID, principalID, id parley.ID) error {
	err := e.store.EndSignIn(ctx, workspaceID, principalID, id)
	e.signedIn.clear()
	return err
}
