package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/oauth"
)

// OAuth says how a server is authorized.
type OAuth struct {
	// Grant is GrantCode, by people of each workspace, or GrantClient, by this program for all of them.
	Grant        string
	ClientID     string   // "": this program registers itself
	ClientSecret string   // of ClientID, if it has one
	Scopes       []string // asked for instead of those that the server names
}

// The grants.
const (
	GrantCode   = "authorization_code"
	GrantClient = "client_credentials"
)

// Authorizations stores what workspaces may do at servers, as store.ToolAuthorizations does.
type Authorizations interface {
	SaveToolAuthorization(ctx context.Context, a parley.ToolAuthorization) (parley.ToolAuthorization, error)
	DeleteToolAuthorization(ctx context.Context, workspaceID parley.ID, server string) error
	ToolAuthorizations(ctx context.Context, workspaceID parley.ID) ([]parley.ToolAuthorization, error)
}

const (
	// renewBefore is how long before its end a token is renewed.
	renewBefore = 30 * time.Second
	// renewalWithin is how long another process may take to renew a token before this one does.
	renewalWithin = 20 * time.Second
	// renewalLook is how often this one looks.
	renewalLook = 250 * time.Millisecond
)

// kept is what a row holds, encrypted.
type kept struct {
	Token oauth.Token `json:"token"`
	// Renewing names the attempt that renews the token: nobody else may use its refresh token meanwhile, since servers
	// take a second use for a theft.
	Renewing parley.ID `json:"renewing"`
	Refused  string    `json:"refused,omitempty"` // with which code the server refused to renew it
}

// unauthorized is why a server lets nobody in.
type unauthorized struct{ reason string }

// Error implements error.
func (u *unauthorized) Error() string { return u.reason }

var (
	errNobody   = &unauthorized{"nobody in this workspace has authorized it yet"}
	errLostKey  = &unauthorized{"its tokens were encrypted with a key that this process does not have"}
	errRefused  = &unauthorized{"its authorization has ended: the authorization server does not renew it"}
	errNotTaken = &unauthorized{"it refuses a token that its authorization server has just given"}
)

// bearer has the tokens of one server: for one workspace, or of the program itself for all of them.
type bearer struct {
	server    Server
	client    *oauth.Client
	rows      Authorizations
	sealer    *oauth.Sealer
	workspace parley.ID // zero: the program itself

	asking sync.Mutex  // held by the request that asks for a token
	mu     sync.Mutex  // guards token
	token  oauth.Token // the last one
}

// get returns a token other than stale, which the server has refused. It returns *unauthorized if a person must act.
func (b *bearer) get(ctx context.Context, stale string) (string, error) {
	if token, ok := b.known(stale); ok {
		return token, nil
	}
	b.asking.Lock()
	defer b.asking.Unlock()
	if token, ok := b.known(stale); ok {
		return token, nil
	}
	var fresh oauth.Token
	var err error
	if b.workspace.IsZero() {
		fresh, err = b.ownToken(ctx)
	} else {
		fresh, err = b.stored(ctx, stale)
	}
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	b.token = fresh
	b.mu.Unlock()
	return fresh.Access, nil
}

func (b *bearer) known(stale string) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.token.Access, usable(&b.token, stale)
}

func usable(t *oauth.Token, stale string) bool {
	return t.Access != "" && t.Access != stale &&
		(t.Expires == 0 || time.Unix(t.Expires, 0).After(time.Now().Add(renewBefore)))
}

// ownToken gets a token by client credentials.
func (b *bearer) ownToken(ctx context.Context) (oauth.Token, error) {
	at, err := b.client.Discover(ctx, b.server.URL)
	if err != nil {
		return oauth.Token{}, err
	}
	if len(b.server.OAuth.Scopes) > 0 {
		at.Scopes = b.server.OAuth.Scopes
	}
	token, err := b.client.OwnToken(ctx, &at, oauth.Identity{
		ID: b.server.OAuth.ClientID, Secret: b.server.OAuth.ClientSecret,
	})
	return token, b.verdict(err)
}

// verdict makes a refusal of the authorization server one that waits for a person.
func (b *bearer) verdict(err error) error {
	var refusal oauth.Refusal
	if errors.As(err, &refusal) {
		return &unauthorized{"its authorization has ended: " + refusal.Error()}
	}
	return err
}

// row reads the workspace's row; nil without one.
func (b *bearer) row(ctx context.Context) (*parley.ToolAuthorization, error) {
	rows, err := b.rows.ToolAuthorizations(ctx, b.workspace)
	for i := range rows {
		if rows[i].Server == b.server.Name {
			return &rows[i], err
		}
	}
	return nil, err
}

// stored returns the workspace's token. If it is stale or ends soon, it is renewed, by one process at a time.
func (b *bearer) stored(ctx context.Context, stale string) (oauth.Token, error) {
	var waited int64 // the revision of the row that another process renews
	var since time.Time
	for {
		row, err := b.row(ctx)
		if err != nil {
			return oauth.Token{}, err
		}
		if row == nil || len(row.Tokens) == 0 {
			return oauth.Token{}, errNobody
		}
		var have kept
		if err := b.sealer.Open(row.Tokens, place(row, "tokens"), &have); err != nil {
			return oauth.Token{}, errLostKey
		}
		if !have.Token.For(b.server.URL) { // the server of this name has moved: another one may be there now
			return oauth.Token{}, errNobody
		}
		switch {
		case have.Refused != "":
			return oauth.Token{}, errRefused
		case usable(&have.Token, stale):
			return have.Token, nil
		case have.Renewing.IsZero() || waited == row.Revision && time.Since(since) > renewalWithin:
			token, err := b.renew(ctx, row, have)
			if parley.ErrorCode(err) == parley.CodeConflict { // somebody else was faster
				continue
			}
			return token, err
		case waited != row.Revision:
			waited, since = row.Revision, time.Now()
		}
		timer := time.NewTimer(renewalLook)
		select {
		case <-ctx.Done():
			timer.Stop()
			return oauth.Token{}, ctx.Err()
		case <-timer.C:
		}
	}
}

// renew renews a token. That somebody does is in the row before the authorization server is asked.
func (b *bearer) renew(ctx context.Context, row *parley.ToolAuthorization, have kept) (oauth.Token, error) {
	have.Renewing = parley.NewID()
	if err := b.save(ctx, row, have); err != nil {
		return oauth.Token{}, err
	}
	// From here on the row must learn what comes of it, whoever has asked.
	ctx = context.WithoutCancel(ctx)
	fresh, err := b.client.Renew(ctx, have.Token)
	next := kept{Token: fresh}
	var refusal oauth.Refusal
	switch {
	case errors.As(err, &refusal):
		next = kept{Token: have.Token, Refused: refusal.Code}
		err = errRefused
	case err != nil:
		next = kept{Token: have.Token} // the next request tries again
	}
	if broken := b.save(ctx, row, next); broken != nil {
		return oauth.Token{}, broken
	}
	return fresh, err
}

// save writes what a row holds.
func (b *bearer) save(ctx context.Context, row *parley.ToolAuthorization, have kept) error {
	sealed, err := b.sealer.Seal(have, place(row, "tokens"))
	if err != nil {
		return err
	}
	next := *row
	next.Tokens = sealed
	next, err = b.rows.SaveToolAuthorization(ctx, next)
	if err == nil {
		*row = next
	}
	return err
}

// place is where what a row holds may be opened.
func place(row *parley.ToolAuthorization, column string) string {
	return column + " " + row.WorkspaceID.String() + " " + row.Server
}
