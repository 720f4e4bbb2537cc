package main

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/tool/mcp"
)

// mcpSetting configures a server of the Model Context Protocol: a command to start, or a URL. Secrets are in the
// environment: the file names their variables as ${NAME}.
type mcpSetting struct {
	Name          string                                `yaml:"name"` // begins the names of its tools: name__tool
	Command       string                                `yaml:"command"`
	Args          []string                              `yaml:"args"`
	Env           map[string]string                     `yaml:"env"` // with ${NAME}
	URL           string                                `yaml:"url"`
	Headers       map[string]string                     `yaml:"headers"`
	SecretHeaders map[string]string                     `yaml:"secret_headers"` // with ${NAME}
	AllowPrivate  bool                                  `yaml:"allow_private"`
	OAuth         *oauthSetting                         `yaml:"oauth"` // null: the server wants none
	ConnectTime   duration                              `yaml:"connect_timeout"`
	CallTime      duration                              `yaml:"timeout"`
	Protocol      string                                `yaml:"protocol"`
	Tools         map[string]parley.AnnotationsOverride `yaml:"tools"` // by the server's own names; "*" for all others
}

// oauthSetting says how a server is authorized; {} is enough where the server registers clients.
type oauthSetting struct {
	Grant        string   `yaml:"grant"` // authorization_code (the default) or client_credentials
	ClientID     string   `yaml:"client_id"`
	ClientSecret string   `yaml:"client_secret"` // with ${NAME}
	Scopes       []string `yaml:"scopes"`        // instead of those that the server names
}

// openMCP begins to connect to the configured servers.
func openMCP(s settings, env func(string) string, options mcp.Options) (*mcp.Source, error) {
	servers := make([]mcp.Server, len(s.MCP))
	for i, given := range s.MCP {
		var err error
		if servers[i], err = given.server(env); err != nil {
			return nil, err
		}
	}
	return mcp.Open(servers, options)
}

func (m mcpSetting) server(env func(string) string) (mcp.Server, error) {
	server := mcp.Server{
		Name:         m.Name,
		Command:      m.Command,
		Args:         m.Args,
		URL:          m.URL,
		AllowPrivate: m.AllowPrivate,
		ConnectTime: time.Duration(
			m.ConnectTime,
		),
		CallTime: time.Duration(m.CallTime),
		Protocol: m.Protocol,
		Tools:    m.Tools,
	}
	if m.OAuth != nil {
		secret, err := expandSecrets(m.field("oauth", "client_secret"), m.OAuth.ClientSecret, env)
		if err != nil {
			return mcp.Server{}, err
		}
		server.OAuth = &mcp.OAuth{
			Grant: cmp.Or(m.OAuth.Grant, mcp.GrantCode), ClientID: m.OAuth.ClientID, ClientSecret: secret,
			Scopes: m.OAuth.Scopes,
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Env)) {
		value, err := expandSecrets(m.field("env", name), m.Env[name], env)
		if err != nil {
			return mcp.Server{}, err
		}
		server.Environment = append(server.Environment, name+"="+value)
	}
	if len(m.Headers)+len(m.SecretHeaders) > 0 {
		server.Headers = http.Header{}
	}
	for name, value := range m.Headers {
		server.Headers.Set(name, value)
	}
	for name, value := range m.SecretHeaders {
		secret, err := expandSecrets(m.field("secret_headers", name), value, env)
		if err != nil {
			return mcp.Server{}, err
		}
		server.Headers.Set(name, secret)
	}
	if err := server.Check(); err != nil {
		return mcp.Server{}, err
	}
	if m.Command != "" { // the file's variables come last and win
		server.Environment = append(mcp.BaseEnvironment(env), server.Environment...)
	}
	return server, nil
}

// field is the name of one of the setting's values in errors.
func (m mcpSetting) field(list, name string) string {
	return "mcp." + parley.Clip(m.Name, 64) + "." + list + "." + parley.Clip(name, 64)
}
