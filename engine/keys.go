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
	shownBytes     = len(SecretPrefix) + 8 // length of the prefix shown to recognise a key
	keyCacheTTL    = 2 * time.Second       // longest that another process's revocation goes unnoticed
	keyCacheKeys   = 1024                  // most keys remembered
	maxSecretBytes = 256                   // longer ones are refused unread
)

// KeyInput is a new key.
type KeyInput struct {
	Name string               `json:"name" doc:"What the key is for."`
	Role parley.PrincipalRole `json:"role,omitempty" enum:"admin,member,reader" doc:"admin by default."`
	// RequestsPerMinute counts every request of the key, a stream once.
	RequestsPerMinute int `json:"requests_per_minute,omitempty" minimum:"1" maximum:"1000000" doc:"Requests of all kinds; further ones are answered 429. Unlimited by default."`
	// MaxSessions and MaxStorage are quotas of what the key's principal owns.
	MaxSessions int64 `json:"max_sessions,omitempty" minimum:"1" maximum:"1125899906842624" doc:"Sessions that its principal may own; further ones are answered 409. Unlimited by default."`
	MaxStorage  int64 `json:"max_storage,omitempty" minimum:"1" maximum:"1125899906842624" doc:"Bytes of files that its principal may upload; further ones are answered 409. Unlimited by default."`
}

// NewKey is the only answer that contains a key's secret.
type NewKey struct {
	parley.Key
	Secret string `json:"key" doc:"The secret: shown now and never again."`
}

// KeyList lists the keys of a workspace, newest first.
type KeyList struct {
	Data []parley.Key `json:"data"`
}

// Authenticate finds the principal of a key's secret. It returns CodeUnauthenticated for an unknown or revoked key; a
// revocation by another process takes effect within two seconds, one by this process immediately.
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

// RefusedKey is the audit's action for the use of a revoked key.
const RefusedKey = "refusedKey"

// NoteRefused records in the key's workspace that somebody used a revoked key. Any other secret is unknown and leaves
// no entry.
func (e *Engine) NoteRefused(ctx context.Context, secret string, requestID parley.ID) {
	if e.audit == nil || len(secret) > maxSecretBytes || !strings.HasPrefix(secret, SecretPrefix) {
		return
	}
	key, err := e.store.RevokedKey(ctx, parley.HashOf([]byte(secret)))
	if err != nil {
		return // it was never a key, or the store is unreachable: the log has the line
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

// admit counts a call of a principal whose key is limited, and returns CodeRateLimited if it comes too early. The count
// is in the database, shared by all processes.
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

// LocalOwner returns the principal of this machine's own user in a workspace, which is created if new. The caller must
// know that the request comes from that user.
func (e *Engine) LocalOwner(ctx context.Context, workspace string) (parley.Principal, error) {
	id, err := e.workspace(ctx, workspace)
	if err != nil {
		return parley.Principal{}, err
	}
	owner, err := e.store.LocalOwner(ctx, id)
	owner.Local = true
	return owner, err
}

// HasKeys reports whether any workspace has a key that is not revoked: once there is one, every request needs a key.
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

// CreateKeyIn makes a key in any workspace, which is created if new. Only this machine's owner may; the caller has
// checked that.
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

// newSecret returns random characters after a prefix that says what they are for.
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

// RevokeKey ends a key immediately.
func (e *Engine) RevokeKey(ctx context.Context, principal parley.Principal, id parley.ID) (_ parley.Key, err error) {
	ctx, call, err := e.enter(ctx, principal, "revokeKey", WriteKeys, on(id))
	if err != nil {
		return parley.Key{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	key, err := e.store.RevokeKey(ctx, scope.WorkspaceID, id)
	e.keys.clear()
	e.signedIn.clear() // the key's sign-ins end with it
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
