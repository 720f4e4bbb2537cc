package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// The form of a key's secret: the prefix and 32 random bytes in hexadecimal.
const (
	SecretPrefix   = "pk_"
	secretBytes    = 32
	shownBytes     = len(SecretPrefix) + 8 // of the secret, to recognise a key by
	keyCacheTTL    = 2 * time.Second       // longest a revocation by another process goes unnoticed
	keyCacheKeys   = 1024                  // keys remembered at most
	maxSecretBytes = 256                   // longer ones are refused unread
)

// KeyInput is a new key.
type KeyInput struct {
	Name string               `json:"name" doc:"What the key is for."`
	Role parley.PrincipalRole `json:"role,omitempty" enum:"admin,member,reader" doc:"admin by default."`
	// RequestsPerMinute counts every request of the key, a stream once.
	RequestsPerMinute int `json:"requests_per_minute,omitempty" minimum:"1" maximum:"1000000" doc:"Requests of any kind per minute; more are 429. Unlimited by default."`
	// MaxSessions and MaxStorage are quotas of what the key's principal owns.
	MaxSessions int64 `json:"max_sessions,omitempty" minimum:"1" maximum:"1125899906842624" doc:"Sessions that it may own; more are 409. Unlimited by default."`
	MaxStorage  int64 `json:"max_storage,omitempty" minimum:"1" maximum:"1125899906842624" doc:"Bytes of files that it may have uploaded; more are 409. Unlimited by default."`
}

// NewKey is the one answer that holds a key's secret.
type NewKey struct {
	parley.Key
	Secret string `json:"key" doc:"The secret: shown now and never again."`
}

// KeyList is the keys of a workspace, newest first.
type KeyList struct {
	Data []parley.Key `json:"data"`
}

// Authenticate finds the principal of a key's secret. CodeUnauthenticated for
// one that is unknown or revoked; a revocation by another process is noticed
// within two seconds, one by this process at once.
func (e *Engine) Authenticate(ctx context.Context, secret string) (parley.Principal, error) {
	if len(secret) > maxSecretBytes || !strings.HasPrefix(secret, SecretPrefix) {
		return parley.Principal{}, parley.Errorf(
			parley.CodeUnauthenticated,
			"This is not a Parley key: keys begin with %s.",
			SecretPrefix,
		)
	}
	hash, now := parley.HashOf([]byte(secret)), time.Now()
	principal, cleared, ok := e.keys.find(hash, now)
	if ok {
		return principal, nil
	}
	principal, err := e.store.Authenticate(ctx, hash)
	if err != nil {
		return parley.Principal{}, err
	}
	e.keys.add(hash, principal, now, cleared)
	return principal, nil
}

// RefusedKey is the action of the audit for the secret of a revoked key.
const RefusedKey = "refusedKey"

// NoteRefused writes down that somebody came with the secret of a revoked key: in the
// workspace that the key was of. Of any other secret nothing is known to write.
func (e *Engine) NoteRefused(ctx context.Context, secret string, requestID parley.ID) {
	if e.audit == nil || len(secret) > maxSecretBytes || !strings.HasPrefix(secret, SecretPrefix) {
		return
	}
	key, err := e.store.RevokedKey(ctx, parley.HashOf([]byte(secret)))
	if err != nil {
		return // it was never a key, or the store is out of reach: the log has the line
	}
	e.audit.record(ctx, parley.AuditEntry{
		ID:            parley.NewID(),
		WorkspaceID:   key.WorkspaceID,
		At:            parley.Now(),
		PrincipalID:   key.PrincipalID,
		PrincipalName: key.Name,
		Action:        RefusedKey,
		TargetID:      key.ID,
		RequestID:     requestID,
	})
}

// admit counts a call of a principal whose key is limited: CodeRateLimited when it
// comes too early. It is counted in the database, for all processes.
func (e *Engine) admit(ctx context.Context, principal parley.Principal) error {
	if principal.RequestsPerMinute <= 0 {
		return nil
	}
	wait, err := e.store.TakeRate(
		store.WithAudit(ctx, nil),
		principal.WorkspaceID,
		principal.ID,
		principal.RequestsPerMinute,
	)
	if err == nil && wait > 0 {
		err = parley.RateLimited("This key", principal.RequestsPerMinute, wait)
	}
	return err
}

// LocalOwner is the principal of this machine's own user in a workspace, which
// is made if it is new. Whether a request comes from that user is for the
// caller to know.
func (e *Engine) LocalOwner(ctx context.Context, workspace string) (parley.Principal, error) {
	id, err := e.workspace(ctx, workspace)
	if err != nil {
		return parley.Principal{}, err
	}
	owner, err := e.store.LocalOwner(ctx, id)
	owner.Local = true
	return owner, err
}

// HasKeys reports whether any workspace has a key that is not revoked: from the
// first one on every request needs one.
func (e *Engine) HasKeys(ctx context.Context) (bool, error) { return e.store.HasKeys(ctx) }

// CreateKey makes a key in the principal's own workspace.
func (e *Engine) CreateKey(ctx context.Context, principal parley.Principal, input KeyInput) (made NewKey, err error) {
	ctx, call, err := e.enter(ctx, principal, "createKey", WriteKeys)
	if err != nil {
		return NewKey{}, err
	}
	defer call.end(ctx, &err)
	return e.createKey(ctx, call, principal.WorkspaceID, principal.Workspace, input)
}

// CreateKeyIn makes a key in any workspace, which is made if it is new. It is
// for the owner of this machine alone; the caller has made sure of that.
func (e *Engine) CreateKeyIn(ctx context.Context, workspace string, input KeyInput) (made NewKey, err error) {
	owner, err := e.LocalOwner(store.WithAudit(ctx, nil), workspace) // the key may still be refused
	if err != nil {
		return NewKey{}, err
	}
	ctx, call, err := e.enter(ctx, owner, "createKey", WriteKeys)
	if err != nil {
		return NewKey{}, err
	}
	defer call.end(ctx, &err)
	return e.createKey(ctx, call, owner.WorkspaceID, owner.Workspace, input)
}

func (e *Engine) createKey(
	ctx context.Context,
	call verbCall,
	workspaceID parley.ID,
	workspace string,
	input KeyInput,
) (NewKey, error) {
	input.Name = strings.TrimSpace(input.Name)
	if input.Name == "" {
		return NewKey{}, parley.InvalidField("name", "is empty; name the key after its user")
	}
	if err := parley.CheckText("name", input.Name, parley.MaxNameBytes); err != nil {
		return NewKey{}, err
	}
	role := either(input.Role, parley.RoleAdmin)
	if !role.Valid() {
		return NewKey{}, parley.InvalidField(
			"role",
			"%q is not one of admin, member, reader",
			parley.Clip(string(role), 32),
		)
	}
	if input.RequestsPerMinute < 0 || input.RequestsPerMinute > parley.MaxLimitPerMinute {
		return NewKey{}, parley.InvalidField(
			"requests_per_minute",
			"must lie between 1 and %d; leave it out for no limit",
			parley.MaxLimitPerMinute,
		)
	}
	if err := checkQuotas(input); err != nil {
		return NewKey{}, err
	}
	secret, err := newSecret(SecretPrefix)
	if err != nil {
		return NewKey{}, err
	}
	key, err := e.store.CreateKey(ctx, store.NewKey{
		Key: parley.Key{
			ID:                parley.NewID(),
			WorkspaceID:       workspaceID,
			Workspace:         workspace,
			PrincipalID:       parley.NewID(),
			Name:              input.Name,
			Role:              role,
			Prefix:            secret[:shownBytes],
			RequestsPerMinute: parley.OrNull(input.RequestsPerMinute),
			MaxSessions:       parley.OrNull(input.MaxSessions),
			MaxStorage:        parley.OrNull(input.MaxStorage),
		},
		Hash: parley.HashOf([]byte(secret)),
	})
	if err != nil {
		return NewKey{}, err
	}
	call.about(on(key.ID))
	return NewKey{Key: key, Secret: secret}, nil
}

func checkQuotas(input KeyInput) error {
	if input.MaxSessions < 0 || input.MaxSessions > parley.MaxQuota {
		return parley.InvalidField(
			"max_sessions",
			"must lie between 1 and %d; leave it out for no limit",
			int64(parley.MaxQuota),
		)
	}
	if input.MaxStorage < 0 || input.MaxStorage > parley.MaxQuota {
		return parley.InvalidField(
			"max_storage",
			"must lie between 1 and %d bytes; leave it out for no limit",
			int64(parley.MaxQuota),
		)
	}
	return nil
}

// newSecret is random, behind what tells what it is for.
func newSecret(prefix string) (string, error) {
	random := make([]byte, secretBytes)
	if _, err := rand.Read(random); err != nil {
		return "", err
	}
	return prefix + hex.EncodeToString(random), nil
}

// Keys lists the keys of the principal's workspace, without secrets.
func (e *Engine) Keys(ctx context.Context, principal parley.Principal) (_ KeyList, err error) {
	ctx, call, err := e.enter(ctx, principal, "listKeys", ReadKeys)
	if err != nil {
		return KeyList{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	keys, err := e.store.Keys(ctx, scope.WorkspaceID)
	return KeyList{Data: orEmpty(keys)}, err
}

// RevokeKey ends a key at once.
func (e *Engine) RevokeKey(ctx context.Context, principal parley.Principal, id parley.ID) (_ parley.Key, err error) {
	ctx, call, err := e.enter(ctx, principal, "revokeKey", WriteKeys, on(id))
	if err != nil {
		return parley.Key{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	key, err := e.store.RevokeKey(ctx, scope.WorkspaceID, id)
	e.keys.clear()
	e.signedIn.clear() // the sign-ins of the key end with it
	return key, err
}

func (e *Engine) workspace(ctx context.Context, name string) (parley.ID, error) {
	if name == "" {
		name = parley.DefaultWorkspace
	}
	if name != parley.Slugify(name) {
		return parley.ID{}, parley.InvalidField(
			"workspace",
			"%q is not a valid workspace name: use 1 to 64 lower-case letters, digits and single hyphens",
			parley.Clip(name, 64),
		)
	}
	return e.store.Workspace(ctx, name)
}
