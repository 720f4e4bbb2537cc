// Package oauth is the client's part of OAuth 2.1 as the Model Context Protocol prescribes it: it finds the
// authorization server of a resource, registers a client there, and gets and renews tokens. It keeps
// nothing; Seal encrypts what others keep.
//
// Everything that servers answer is foreign: it is bounded, endpoints must be https unless the caller
// allows private addresses, and no request follows a redirect.
package oauth

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.org/parley/internal/netguard"
)

const (
	// maxAnswer bounds an answer of a server, in bytes.
	maxAnswer = 64 << 10
	// within bounds each request.
	within = 10 * time.Second
	// maxToken bounds a token, an address and each other text that is kept, in bytes.
	maxToken = 8 << 10
	// maxScopes bounds the scopes that are asked for.
	maxScopes = 64
	// longestLife bounds what a server says about a token's life.
	longestLife = 365 * 24 * time.Hour
)

// Client asks authorization servers.
type Client struct {
	http  *http.Client
	plain bool // http is allowed too
}

// NewClient makes a client. With allowPrivate it also asks private addresses, and without TLS.
func NewClient(allowPrivate bool) *Client {
	c := netguard.NewClient(netguard.Options{AllowPrivate: allowPrivate})
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{http: c, plain: allowPrivate}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Refusal is the error with which an authorization server refuses a request.
type Refusal struct {
	Code string `json:"error"`
}

// Error returns the server's code, which is no secret; its description may be anything and is left out.
func (r Refusal) Error() string { return "the authorization server refused: " + clip(r.Code, 64) }

func clip(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), most)]
}

// reply is an answer whose body is read.
type reply struct {
	StatusCode int
	Header     http.Header
}

// ask sends a request and decodes a JSON answer into to. It returns the status; a status beyond 299 is no error.
func (c *Client) ask(ctx context.Context, r *http.Request, to any) (*reply, error) {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	if err := c.fits(r.URL.String()); err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	answer, err := c.http.Do(r.WithContext(ctx))
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) { // without the address, which may hold what others should not read
			err = failed.Err
		}
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > maxAnswer:
		return nil, fmt.Errorf("its answer is longer than %d bytes", maxAnswer)
	case to == nil:
		return &reply{answer.StatusCode, answer.Header}, nil
	case answer.StatusCode/100 == 2:
		if err := json.Unmarshal(raw, to); err != nil {
			return nil, errors.New("its answer is not the JSON that OAuth prescribes")
		}
	case answer.StatusCode/100 == 4 && r.Method == http.MethodPost:
		var refusal Refusal
		if json.Unmarshal(raw, &refusal) == nil && refusal.Code != "" {
			return nil, refusal
		}
	}
	return &reply{answer.StatusCode, answer.Header}, nil
}

// fits refuses an address that is not for requests of this client.
func (c *Client) fits(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(address) > maxToken:
		return errors.New("a server names an address that is none")
	case u.Scheme == "https" || u.Scheme == "http" && c.plain:
		return nil
	}
	return errors.New("a server names an address without https")
}

// Server is what is known of a resource's authorization server.
type Server struct {
	Issuer    string   `json:"issuer"`
	Authorize string   `json:"authorization_endpoint"`
	Token     string   `json:"token_endpoint"`
	Register  string   `json:"registration_endpoint,omitempty"`
	Methods   []string `json:"token_endpoint_auth_methods_supported,omitempty"`
	Challenge []string `json:"code_challenge_methods_supported,omitempty"`
	NamesSelf bool     `json:"authorization_response_iss_parameter_supported,omitempty"`
	Scopes    []string `json:"scopes_supported,omitempty"`
	Resource  string   `json:"resource,omitempty"` // what tokens are for
}

// metadataOfResource is what a protected resource says of itself (RFC 9728).
type metadataOfResource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// Discover finds the authorization server of a resource: as the resource's challenge or its metadata name it, or else
// at the resource's own origin.
func (c *Client) Discover(ctx context.Context, resource string) (Server, error) {
	at, err := url.Parse(resource)
	if err != nil {
		return Server{}, err
	}
	named, scopes := c.challenge(ctx, resource)
	var found metadataOfResource
	for _, address := range slices.Concat(named, wellKnown(at, "oauth-protected-resource", false)) {
		var read metadataOfResource // what a wrong answer leaves behind must not count
		answer, err := c.get(ctx, address, &read)
		if err != nil || answer.StatusCode/100 != 2 {
			continue
		}
		if !covers(read.Resource, at) {
			return Server{}, errors.New("its metadata is about another resource")
		}
		if len(read.Servers) == 0 {
			return Server{}, errors.New("its metadata name no authorization server")
		}
		found = read
		break
	}
	if len(found.Servers) == 0 {
		found.Servers, found.Resource = []string{(&url.URL{Scheme: at.Scheme, Host: at.Host}).String()}, resource
	}
	server, err := c.metadata(ctx, found.Servers[0])
	if err != nil {
		return Server{}, err
	}
	wanted := found.Scopes
	if len(scopes) > 0 {
		wanted = scopes
	}
	if slices.Contains(server.Scopes, "offline_access") && !slices.Contains(wanted, "offline_access") {
		wanted = append(wanted, "offline_access") // for a refresh token
	}
	server.Resource, server.Scopes = found.Resource, wanted[:min(len(wanted), maxScopes)]
	return server, nil
}

// challenge asks the resource without a token, and reads where its metadata are and which scopes it wants.
func (c *Client) challenge(ctx context.Context, resource string) (metadata, scopes []string) {
	r, err := http.NewRequest( //nolint:noctx // ask adds it
		http.MethodPost, resource, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return nil, nil
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.ask(ctx, r, nil)
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		return nil, nil
	}
	for _, header := range answer.Header.Values("WWW-Authenticate") {
		params := Challenge(header)
		if at := params["resource_metadata"]; at != "" && len(metadata) == 0 {
			metadata = append(metadata, at)
		}
		if len(scopes) == 0 {
			scopes = strings.Fields(params["scope"])
		}
	}
	return metadata, scopes
}

// wellKnown returns where metadata about an address may be: with its path behind the well-known part, at the root,
// and, for issuers of OpenID, behind the path.
func wellKnown(at *url.URL, name string, behind bool) (addresses []string) {
	path := strings.TrimSuffix(at.EscapedPath(), "/")
	root := at.Scheme + "://" + at.Host
	if path != "" {
		addresses = append(addresses, root+"/.well-known/"+name+path)
		if behind {
			return append(addresses, root+path+"/.well-known/"+name)
		}
	}
	return append(addresses, root+"/.well-known/"+name)
}

// covers reports whether metadata about a resource are about the address too: the same, or a path above it.
func covers(resource string, at *url.URL) bool {
	u, err := url.Parse(resource)
	if err != nil || u.Scheme != at.Scheme || u.Host != at.Host {
		return false
	}
	above := strings.TrimSuffix(u.Path, "/")
	return above == strings.TrimSuffix(at.Path, "/") || strings.HasPrefix(at.Path, above+"/")
}

// metadata reads what an authorization server says of itself.
func (c *Client) metadata(ctx context.Context, issuer string) (Server, error) {
	at, err := url.Parse(issuer)
	if err != nil || c.fits(issuer) != nil {
		return Server{}, errors.New("the authorization server's address is not an https address")
	}
	for _, address := range slices.Concat(
		wellKnown(at, "oauth-authorization-server", false)[:1], wellKnown(at, "openid-configuration", true),
	) {
		var server Server
		answer, err := c.get(ctx, address, &server)
		if err != nil || answer.StatusCode/100 != 2 {
			continue
		}
		switch {
		case server.Issuer != issuer && server.Issuer != strings.TrimSuffix(issuer, "/"):
			return Server{}, errors.New("the authorization server says that it is another one")
		case c.fits(server.Token) != nil || server.Authorize != "" && c.fits(server.Authorize) != nil ||
			server.Register != "" && c.fits(server.Register) != nil:
			return Server{}, errors.New("the authorization server names endpoints without https")
		}
		return server, nil
	}
	return Server{}, errors.New("no metadata of an authorization server were found")
}

func (c *Client) get(ctx context.Context, address string, to any) (*reply, error) {
	r, err := http.NewRequest(http.MethodGet, address, nil) //nolint:noctx // ask adds it
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, r, to)
}

// Identity is a client of an authorization server.
type Identity struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret,omitempty"`
	Method string `json:"token_endpoint_auth_method,omitempty"`
}

// RegisterClient makes this program a client of a server that lets anybody become one.
func (c *Client) RegisterClient(ctx context.Context, server *Server, redirect string) (id Identity, err error) {
	if server.Register == "" {
		return id, errors.New("the authorization server registers no clients")
	}
	body, err := json.Marshal(map[string]any{
		"client_name": "Parley", "redirect_uris": []string{redirect}, "response_types": []string{"code"},
		"grant_types":                []string{"authorization_code", "refresh_token"},
		"token_endpoint_auth_method": "none",
	})
	if err != nil {
		return id, err
	}
	r, err := http.NewRequest(http.MethodPost, server.Register, bytes.NewReader(body)) //nolint:noctx // ask adds it
	if err != nil {
		return id, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.ask(ctx, r, &id)
	switch {
	case err != nil:
		return id, err
	case answer.StatusCode/100 != 2:
		return id, fmt.Errorf("the authorization server's registration answered %d", answer.StatusCode)
	case id.ID == "" || len(id.ID)+len(id.Secret) > maxToken:
		return id, errors.New("the authorization server registered a client without a usable id")
	}
	return id, nil
}

// Request is an authorization that a person is asked for. All of it must be kept, encrypted, until they have answered.
type Request struct {
	Server   Server   `json:"server"`
	Client   Identity `json:"client"`
	Redirect string   `json:"redirect"`
	State    string   `json:"state"`
	Verifier string   `json:"verifier"`
}

// NewRequest returns a request, and the address where a person answers it.
func NewRequest(server Server, client Identity, redirect string) (Request, string, error) {
	if server.Authorize == "" {
		return Request{}, "", errors.New("the authorization server has no page where people authorize")
	}
	if len(server.Challenge) > 0 && !slices.Contains(server.Challenge, "S256") {
		return Request{}, "", errors.New("the authorization server lacks PKCE with S256")
	}
	made := Request{
		Server: server, Client: client, Redirect: redirect, State: rand.Text(), Verifier: rand.Text() + rand.Text(),
	}
	u, err := url.Parse(server.Authorize)
	if err != nil {
		return Request{}, "", err
	}
	sum := sha256.Sum256([]byte(made.Verifier))
	query := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": client.ID, "redirect_uri": redirect, "state": made.State,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
		"resource": server.Resource,
	} {
		query.Set(name, value)
	}
	if len(server.Scopes) > 0 {
		query.Set("scope", strings.Join(server.Scopes, " "))
	}
	u.RawQuery = query.Encode()
	return made, u.String(), nil
}

// Token lets in, until it expires. It has what renewing it takes.
type Token struct {
	Access   string   `json:"access"`
	Refresh  string   `json:"refresh,omitempty"`
	Expires  int64    `json:"expires,omitempty"` // Unix seconds; 0: it does not say
	Endpoint string   `json:"endpoint"`
	Resource string   `json:"resource"`
	Client   Identity `json:"client"`
}

// For reports whether the token is meant for a resource at an address.
func (t *Token) For(address string) bool {
	at, err := url.Parse(address)
	return err == nil && covers(t.Resource, at)
}

// Redeem exchanges the code with which a person's answer came back. The issuer is that answer's iss.
func (c *Client) Redeem(ctx context.Context, made *Request, code, issuer string) (Token, error) {
	if issuer != made.Server.Issuer && (issuer != "" || made.Server.NamesSelf) {
		return Token{}, errors.New("the answer came from another authorization server")
	}
	return c.token(ctx, Token{
		Endpoint: made.Server.Token, Resource: made.Server.Resource, Client: made.Client,
	}, made.Server.Methods, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {made.Redirect},
		"code_verifier": {made.Verifier},
	})
}

// Renew exchanges a token's refresh token for a new token.
func (c *Client) Renew(ctx context.Context, old Token) (Token, error) {
	if old.Refresh == "" {
		return Token{}, Refusal{Code: "invalid_grant"}
	}
	return c.token(ctx, old, nil, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}})
}

// OwnToken gets a token for the program itself, by client credentials.
func (c *Client) OwnToken(ctx context.Context, server *Server, client Identity) (Token, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if len(server.Scopes) > 0 {
		form.Set("scope", strings.Join(server.Scopes, " "))
	}
	return c.token(ctx, Token{Endpoint: server.Token, Resource: server.Resource, Client: client}, server.Methods, form)
}

// token asks a token endpoint. What the answer leaves out stays as it is in old.
func (c *Client) token(ctx context.Context, old Token, methods []string, form url.Values) (Token, error) {
	made := old
	if made.Client.Method == "" && made.Client.Secret != "" {
		made.Client.Method = "client_secret_basic"
		if !slices.Contains(methods, made.Client.Method) && slices.Contains(methods, "client_secret_post") {
			made.Client.Method = "client_secret_post"
		}
	}
	form.Set("resource", made.Resource)
	basic := made.Client.Secret != "" && made.Client.Method == "client_secret_basic"
	if !basic {
		form.Set("client_id", made.Client.ID)
		if made.Client.Secret != "" {
			form.Set("client_secret", made.Client.Secret)
		}
	}
	r, err := http.NewRequest( //nolint:noctx // ask adds it
		http.MethodPost, made.Endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return Token{}, err
	}
	if basic {
		r.SetBasicAuth(url.QueryEscape(made.Client.ID), url.QueryEscape(made.Client.Secret))
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var got struct {
		Access  string  `json:"access_token"`
		Type    string  `json:"token_type"`
		Refresh string  `json:"refresh_token"`
		Expires float64 `json:"expires_in"`
	}
	answer, err := c.ask(ctx, r, &got)
	switch {
	case err != nil:
		return Token{}, err
	case answer.StatusCode/100 != 2:
		return Token{}, fmt.Errorf("the authorization server answered %d", answer.StatusCode)
	case !strings.EqualFold(got.Type, "bearer"):
		return Token{}, errors.New("the authorization server gives tokens of a kind that this client lacks")
	case !fitsHeader(got.Access) || len(got.Refresh) > maxToken:
		return Token{}, errors.New("the authorization server gives tokens that cannot be used")
	}
	made.Access, made.Expires = got.Access, 0
	if got.Refresh != "" {
		made.Refresh = got.Refresh
	}
	if life := min(got.Expires, longestLife.Seconds()); life > 0 {
		made.Expires = time.Now().Unix() + int64(life)
	}
	return made, nil
}

// fitsHeader reports whether a token may stand in a header.
func fitsHeader(token string) bool {
	return token != "" && len(token) <= maxToken && strings.Trim(clip(token, maxToken), "?") != "" &&
		clip(token, maxToken) == token && !strings.Contains(token, " ")
}

// Challenge reads the parameters of a WWW-Authenticate header: those of all its challenges together, by lower-case
// names; the first of a name wins.
func Challenge(header string) map[string]string {
	params := map[string]string{}
	for rest := header[:min(len(header), maxToken)]; rest != ""; {
		name, after, ok := strings.Cut(rest, "=")
		if !ok {
			return params
		}
		name = strings.ToLower(name[strings.LastIndexAny(name, " ,\t")+1:])
		var value strings.Builder
		if strings.HasPrefix(after, `"`) {
			at := 1
			for ; at < len(after) && after[at] != '"'; at++ {
				if after[at] == '\\' && at+1 < len(after) {
					at++
				}
				value.WriteByte(after[at])
			}
			rest = after[min(at+1, len(after)):]
		} else {
			plain, next, _ := strings.Cut(after, ",")
			value.WriteString(strings.TrimSpace(plain))
			rest = next
		}
		if _, taken := params[name]; !taken && name != "" {
			params[name] = value.String()
		}
	}
	return params
}
