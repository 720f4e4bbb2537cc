package mcp

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/internal/oauth"
)

// requestLives is how long a person may take to authorize.
const requestLives = 15 * time.Minute

// asked is the request that a row holds, encrypted.
type asked struct {
	Request   oauth.Request `json:"request"`
	By        parley.ID     `json:"by"`
	ExpiresAt parley.Time   `json:"expires_at"`
}

// owned finds a server that workspaces authorize.
func (s *Source) ownedServer(name string) (*Server, error) {
	for i := range s.owned {
		if s.owned[i].Name == name {
			return &s.owned[i], nil
		}
	}
	for _, l := range s.links {
		if l.server.Name == name {
			return nil, parley.Errorf(parley.CodeConflict, "People do not authorize %s: write `oauth: {}` for it in "+
				"parley.yaml if it wants OAuth, and restart Parley.", quoted(name))
		}
	}
	return nil, parley.Errorf(parley.CodeNotFound, "there is no tool server %s", quoted(name))
}

// checkRedirect refuses an address that an answer must not be sent to. An answer goes to the person's own machine, or
// by https to one of hosts: otherwise the sender of a link to the authorization page would choose where the code goes.
func checkRedirect(redirect string, hosts []string) error {
	u, err := url.Parse(redirect)
	const field = "redirect_uri"
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(redirect) > parley.MaxLinkBytes {
		return parley.InvalidField(field, "is not an address that an answer can be sent to")
	}
	ip := net.ParseIP(u.Hostname())
	own := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	named := slices.ContainsFunc(hosts, func(host string) bool {
		return strings.EqualFold(host, u.Host) || strings.EqualFold(host, u.Hostname())
	})
	if own && (u.Scheme == "http" || u.Scheme == "https") || named && u.Scheme == "https" {
		return nil
	}
	return parley.InvalidField(field, "must be http on this machine (localhost, 127.0.0.1, [::1]), or https at a host "+
		"that the server's settings name (allowed_hosts, allowed_origins)")
}

// Authorize asks a person to authorize a server for a workspace: it returns the address where they do. What is
// authorized already stays so until they have.
func (s *Source) Authorize(
	ctx context.Context,
	workspaceID parley.ID,
	name, redirect string,
	by parley.Author,
) (parley.ToolServerRequest, error) {
	server, err := s.ownedServer(name)
	if err != nil {
		return parley.ToolServerRequest{}, err
	}
	if err := checkRedirect(redirect, s.options.Redirects); err != nil {
		return parley.ToolServerRequest{}, err
	}
	request, address, err := s.request(ctx, server, redirect)
	if err != nil {
		return parley.ToolServerRequest{}, foreign(server, err)
	}
	now := parley.Now()
	row := parley.ToolAuthorization{ID: parley.NewID(), WorkspaceID: workspaceID, Server: name, Owner: by}
	b := s.bearerOf(server, workspaceID)
	if found, err := b.row(ctx); err != nil {
		return parley.ToolServerRequest{}, err
	} else if found != nil {
		row = *found
	}
	expires := now + parley.Time(requestLives.Milliseconds())
	row.Request, err = s.sealer.Seal(asked{Request: request, By: by.ID, ExpiresAt: expires}, place(&row, "request"))
	if err != nil {
		return parley.ToolServerRequest{}, err
	}
	if len(row.Request) > parley.MaxToolAuthorizationBytes {
		return parley.ToolServerRequest{}, foreign(server, errors.New("its metadata are too long"))
	}
	if _, err := s.rows.SaveToolAuthorization(ctx, row); err != nil {
		return parley.ToolServerRequest{}, err
	}
	return parley.ToolServerRequest{URL: address, State: request.State, ExpiresAt: expires}, nil
}

// request finds the authorization server, registers there if it must, and makes the request.
func (s *Source) request(ctx context.Context, server *Server, redirect string) (oauth.Request, string, error) {
	client := s.clientOf(server)
	defer client.Close()
	at, err := client.Discover(ctx, server.URL)
	if err != nil {
		return oauth.Request{}, "", err
	}
	if len(server.OAuth.Scopes) > 0 {
		at.Scopes = server.OAuth.Scopes
	}
	id := oauth.Identity{ID: server.OAuth.ClientID, Secret: server.OAuth.ClientSecret}
	if id.ID == "" {
		if id, err = client.RegisterClient(ctx, &at, redirect); err != nil {
			return oauth.Request{}, "", err
		}
	}
	return oauth.NewRequest(at, id, redirect)
}

// foreign is the error for what another server did, for people.
func foreign(server *Server, err error) error {
	return parley.WrapError(parley.CodeConflict, err, "The tool server "+quoted(server.Name)+
		" cannot be authorized: "+server.redact(err.Error())+".")
}

// Authorized takes a person's answer, as the authorization server has sent it to the redirect address: its code, or its
// error. Only whoever asked may bring it.
func (s *Source) Authorized(
	ctx context.Context,
	workspaceID parley.ID,
	name string,
	answer parley.ToolServerAnswer,
	by parley.Author,
) error {
	server, err := s.ownedServer(name)
	if err != nil {
		return err
	}
	b := s.bearerOf(server, workspaceID)
	row, err := b.row(ctx)
	if err != nil {
		return err
	}
	var pending asked
	none := parley.Errorf(parley.CodeConflict, "Nobody is asked to authorize %s now, or not with this answer: begin "+
		"again.", quoted(name))
	if row == nil || len(row.Request) == 0 || s.sealer.Open(row.Request, place(row, "request"), &pending) != nil ||
		pending.By != by.ID || pending.ExpiresAt < parley.Now() ||
		subtle.ConstantTimeCompare([]byte(pending.Request.State), []byte(answer.State)) != 1 {
		return none
	}
	row.Request = nil // it is answered once, whatever comes of it
	client := s.clientOf(server)
	defer client.Close()
	var token oauth.Token
	err = oauth.Refusal{Code: answer.Error}
	if answer.Error == "" && answer.Code != "" {
		token, err = client.Redeem(ctx, &pending.Request, answer.Code, answer.Issuer)
	}
	if err != nil {
		if _, err := s.rows.SaveToolAuthorization(ctx, *row); err != nil {
			return err
		}
		return foreign(server, err)
	}
	row.Owner, row.AuthorizedAt = by, parley.Now()
	if err := b.save(ctx, row, kept{Token: token}); err != nil {
		return err
	}
	s.viewOf(workspaceID).look()
	return nil
}

// Forget deletes what a workspace has authorized.
func (s *Source) Forget(ctx context.Context, workspaceID parley.ID, name string) error {
	if err := s.rows.DeleteToolAuthorization(ctx, workspaceID, name); err != nil {
		return err
	}
	s.viewOf(workspaceID).look()
	return nil
}

// Servers lists the configured servers as a workspace sees them, by name.
func (s *Source) Servers(ctx context.Context, workspaceID parley.ID) ([]parley.ToolServer, error) {
	v := s.viewOf(workspaceID)
	rows := map[string]parley.ToolAuthorization{}
	if len(s.owned) > 0 {
		found, err := s.rows.ToolAuthorizations(ctx, workspaceID)
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			rows[row.Server] = row
		}
	}
	servers := []parley.ToolServer{}
	for _, l := range v.all() {
		servers = append(servers, l.state())
	}
	for i := range s.owned {
		name := s.owned[i].Name
		at := slices.IndexFunc(servers, func(t parley.ToolServer) bool { return t.Name == name })
		if at < 0 {
			reason, do := s.owned[i].explain(errNobody)
			unknown := parley.ToolServer{Name: name, State: parley.ToolServerUnauthorized, Reason: &reason, Do: &do}
			if row := rows[name]; len(row.Tokens) > 0 { // the connection begins when the view looks
				unknown = parley.ToolServer{Name: name, State: parley.ToolServerConnecting}
			}
			servers = append(servers, unknown)
			at = len(servers) - 1
		}
		servers[at].Authorizable = true
		if row := rows[name]; row.AuthorizedAt != 0 {
			servers[at].AuthorizedBy, servers[at].AuthorizedAt = &row.Owner, row.AuthorizedAt
		}
	}
	slices.SortFunc(servers, func(a, b parley.ToolServer) int {
		return slices.Compare([]byte(a.Name), []byte(b.Name))
	})
	return servers, nil
}

// state says how a link is.
func (l *link) state() parley.ToolServer {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := parley.ToolServer{Name: l.server.Name, State: parley.ToolServerConnected, Tools: len(l.tools)}
	if l.current != nil {
		return known
	}
	known.State = parley.ToolServerConnecting
	if l.trouble != nil {
		known.State = parley.ToolServerAway
		if waitsForPerson(l.trouble) {
			known.State = parley.ToolServerUnauthorized
		}
		reason, do := l.server.explain(l.trouble)
		known.Reason, known.Do = &reason, &do
	}
	return known
}
