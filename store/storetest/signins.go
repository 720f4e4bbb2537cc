package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testSignIns(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"a sign-in is its principal":             testSignedIn,
		"a sign-in ends with its key":            testSignInsEndWithKeys,
		"a sign-in expires, sooner without use":  testSignInsExpire,
		"sign-ins are listed and ended in scope": testSignInScope,
		"a principal has so many sign-ins":       testSignInBound,
	})
}

// after returns a time plus a duration.
func after(from parley.Time, d time.Duration) parley.Time {
	return from + parley.Time(d.Milliseconds())
}

// newSignIn returns a sign-in that begins at a time; its secret is its name.
func newSignIn(principal parley.Principal, secret string, at parley.Time) store.NewSignIn {
	return store.NewSignIn{
		SignIn: parley.SignIn{
			ID:            parley.NewID(),
			WorkspaceID:   principal.WorkspaceID,
			PrincipalID:   principal.ID,
			PrincipalName: principal.Name,
			CreatedAt:     at,
			LastUsedAt:    at,
			ExpiresAt:     after(at, parley.SignInLife),
		},
		Hash: parley.HashOf([]byte(secret)),
	}
}

// keyOwner creates a key and returns its principal.
func (w *world) keyOwner(t *testing.T, workspace, name string) (parley.Key, parley.Principal) {
	t.Helper()
	given := newKey(workspace, name, parley.RoleMember)
	perMinute := 60
	given.Key.RequestsPerMinute, given.Key.MaxSessions, given.Key.MaxStorage = &perMinute, new(int64(8)), new(int64(9))
	key, err := w.store.CreateKey(w.ctx, given)
	must(t, "CreateKey", err)
	principal, err := w.store.Authenticate(w.ctx, given.Hash)
	must(t, "Authenticate", err)
	return key, principal
}

func (w *world) signIn(t *testing.T, principal parley.Principal, secret string, at parley.Time) store.NewSignIn {
	t.Helper()
	made := newSignIn(principal, secret, at)
	must(t, "CreateSignIn", w.store.CreateSignIn(w.ctx, made))
	return made
}

func testSignedIn(t *testing.T, w *world) {
	now := parley.Now()
	_, principal := w.keyOwner(t, "default", "page")
	made := w.signIn(t, principal, "one", now)
	in, err := w.store.SignedIn(w.ctx, made.Hash, now)
	must(t, "SignedIn", err)
	if diff := cmp.Diff(store.SignedIn{SignIn: made.SignIn, Principal: principal}, in); diff != "" {
		t.Errorf("who signed in (-want +got):\n%s", diff)
	}
	owner, err := w.store.LocalOwner(w.ctx, w.scope.WorkspaceID)
	must(t, "LocalOwner", err)
	local := w.signIn(t, owner, "two", now)
	in, err = w.store.SignedIn(w.ctx, local.Hash, now)
	must(t, "SignedIn", err)
	if diff := cmp.Diff(store.SignedIn{SignIn: local.SignIn, Principal: owner, Local: true}, in); diff != "" {
		t.Errorf("the local owner (-want +got):\n%s", diff)
	}
	for name, hash := range map[string]parley.Hash{"an unknown secret": parley.HashOf([]byte("guess")),
		"no secret": {}} {
		_, err := w.store.SignedIn(w.ctx, hash, now)
		refused(t, name, err, parley.CodeUnauthenticated)
	}
	if _, err := w.store.Authenticate(w.ctx, made.Hash); parley.ErrorCode(err) != parley.CodeUnauthenticated {
		t.Errorf("the secret of a sign-in works as a key: %v", err)
	}
	must(t, "EndSignIn", w.store.EndSignIn(w.ctx, w.scope.WorkspaceID, principal.ID, made.ID))
	_, err = w.store.SignedIn(w.ctx, made.Hash, now)
	refused(t, "one that was ended", err, parley.CodeUnauthenticated)
}

func testSignInsEndWithKeys(t *testing.T, w *world) {
	now := parley.Now()
	key, principal := w.keyOwner(t, "default", "page")
	_, other := w.keyOwner(t, "default", "other")
	ends, stays := w.signIn(t, principal, "one", now), w.signIn(t, other, "two", now)
	_, err := w.store.RevokeKey(w.ctx, w.scope.WorkspaceID, key.ID)
	must(t, "RevokeKey", err)
	_, err = w.store.SignedIn(w.ctx, ends.Hash, now)
	refused(t, "a sign-in of a revoked key", err, parley.CodeUnauthenticated)
	_, err = w.store.SignedIn(w.ctx, stays.Hash, now)
	must(t, "SignedIn of another key", err)
	list, err := w.store.SignIns(w.ctx, w.scope.WorkspaceID, parley.ID{}, now)
	must(t, "SignIns", err)
	if len(list) != 1 || list[0] != stays.SignIn {
		t.Errorf("listed: %+v", list)
	}
	w.signIn(t, other, "three", now)
	refused(t, "what counts no more is gone with the next sign-in",
		w.store.EndSignIn(w.ctx, w.scope.WorkspaceID, parley.ID{}, ends.ID), parley.CodeNotFound)
}

func testSignInsExpire(t *testing.T, w *world) {
	now := parley.Now()
	_, principal := w.keyOwner(t, "default", "page")
	made := w.signIn(t, principal, "one", now)
	counts := func(at parley.Time, wanted bool) {
		t.Helper()
		_, err := w.store.SignedIn(w.ctx, made.Hash, at)
		list, listing := w.store.SignIns(w.ctx, w.scope.WorkspaceID, principal.ID, at)
		must(t, "SignIns", listing)
		if (err == nil) != wanted || (len(list) == 1) != wanted {
			t.Errorf("%s later: %v, listed %d", (at - now).Std().Sub(parley.Time(0).Std()), err, len(list))
		}
	}
	idle := after(now, parley.SignInIdle)
	counts(idle-1, true)
	counts(idle, false)
	must(t, "TouchSignIn", w.store.TouchSignIn(w.ctx, w.scope.WorkspaceID, made.ID, idle-1))
	must(t, "TouchSignIn with an earlier time", w.store.TouchSignIn(w.ctx, w.scope.WorkspaceID, made.ID, now))
	counts(idle, true)
	must(t, "TouchSignIn", w.store.TouchSignIn(w.ctx, w.scope.WorkspaceID, made.ID, made.ExpiresAt-1))
	counts(made.ExpiresAt-1, true)
	counts(made.ExpiresAt, false)
	must(t, "TouchSignIn of none", w.store.TouchSignIn(w.ctx, w.scope.WorkspaceID, parley.NewID(), now))
}

func testSignInScope(t *testing.T, w *world) {
	now := parley.Now()
	_, one := w.keyOwner(t, "default", "one")
	_, two := w.keyOwner(t, "default", "two")
	first, second, third := w.signIn(t, one, "1", now), w.signIn(t, two, "2", now), w.signIn(t, one, "3", now)
	neighbour := w.neighbour(t, "neighbour").scope.WorkspaceID
	for name, c := range map[string]struct {
		workspace, principal parley.ID
		want                 []parley.SignIn
	}{
		"one's own": {w.scope.WorkspaceID, one.ID, []parley.SignIn{third.SignIn, first.SignIn}},
		"the workspace's": {w.scope.WorkspaceID, parley.ID{},
			[]parley.SignIn{third.SignIn, second.SignIn, first.SignIn}},
		"a neighbour's": {neighbour, parley.ID{}, []parley.SignIn{}},
	} {
		list, err := w.store.SignIns(w.ctx, c.workspace, c.principal, now)
		must(t, "SignIns", err)
		if diff := cmp.Diff(c.want, list); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	refused(t, "ending another's", w.store.EndSignIn(w.ctx, w.scope.WorkspaceID, two.ID, first.ID), parley.CodeNotFound)
	refused(t, "ending a neighbour's", w.store.EndSignIn(w.ctx, neighbour, parley.ID{}, first.ID), parley.CodeNotFound)
	must(t, "ending one's own", w.store.EndSignIn(w.ctx, w.scope.WorkspaceID, one.ID, first.ID))
	must(t, "an admin's ending", w.store.EndSignIn(w.ctx, w.scope.WorkspaceID, parley.ID{}, second.ID))
	refused(
		t,
		"ending it again",
		w.store.EndSignIn(w.ctx, w.scope.WorkspaceID, parley.ID{}, second.ID),
		parley.CodeNotFound,
	)
}

func testSignInBound(t *testing.T, w *world) {
	now := parley.Now()
	_, one := w.keyOwner(t, "default", "one")
	_, two := w.keyOwner(t, "default", "two")
	theirs := w.signIn(t, two, "theirs", now)
	var first store.NewSignIn
	for i := range parley.MaxSignIns + 1 {
		made := w.signIn(t, one, string(rune('a'+i)), now)
		if i == 0 {
			first = made
		}
	}
	list, err := w.store.SignIns(w.ctx, w.scope.WorkspaceID, one.ID, now)
	must(t, "SignIns", err)
	if len(list) != parley.MaxSignIns {
		t.Errorf("%d sign-ins of one principal, want %d", len(list), parley.MaxSignIns)
	}
	_, err = w.store.SignedIn(w.ctx, first.Hash, now)
	refused(t, "the oldest", err, parley.CodeUnauthenticated)
	_, err = w.store.SignedIn(w.ctx, theirs.Hash, now)
	must(t, "SignedIn of another principal", err)
}
