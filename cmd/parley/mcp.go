package main

import (
	"maps"
	"net/http"
	"slices"

	"parley"
	"parley/tool/mcp"
)

// mcpSetting configures a server of the Model Context Protocol: a command that is
// started here, or a URL. Secrets are never in the file: env_from and header_env
// name the variables that hold them.
type mcpSetting struct {
	Name         string                `yaml:"name"` // begins the names of its tools: name__tool
	Command      string                `yaml:"command"`
	Args         []string              `yaml:"args"`
	Env          map[string]string     `yaml:"env"`
	EnvFrom      map[string]string     `yaml:"env_from"` // variable of the process: variable of ours
	URL          string                `yaml:"url"`
	Headers      map[string]string     `yaml:"headers"`
	HeaderEnv    map[string]string     `yaml:"header_env"` // header: variable of ours that holds its value
	AllowPrivate bool                  `yaml:"allow_private"`
	ConnectTime  duration              `yaml:"connect_timeout"`
	CallTime     duration              `yaml:"timeout"`
	Protocol     string                `yaml:"protocol"`
	Tools        map[string]mcpHinting `yaml:"tools"` // by the server's own names; "*" for all others
}

// mcpHinting replaces what a server says of a tool.
type mcpHinting struct {
	ReadOnly    *bool `yaml:"read_only"`
	Idempotent  *bool `yaml:"idempotent"`
	Destructive *bool `yaml:"destructive"`
	OpenWorld   *bool `yaml:"open_world"`
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
		Name: m.Name, Command: m.Command, Args: m.Args, URL: m.URL, AllowPrivate: m.AllowPrivate,
		ConnectTime: m.ConnectTime.time(), CallTime: m.CallTime.time(), Protocol: m.Protocol, Tools: map[string]mcp.Hints{},
	}
	for tool, h := range m.Tools {
		server.Tools[tool] = mcp.Hints(h)
	}
	variables, err := m.secrets(m.Env, m.EnvFrom, env)
	if err != nil {
		return mcp.Server{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		server.Environment = append(server.Environment, name+"="+variables[name])
	}
	headers, err := m.secrets(m.Headers, m.HeaderEnv, env)
	if err != nil {
		return mcp.Server{}, err
	}
	if len(headers) > 0 {
		server.Headers = http.Header{}
	}
	for name, value := range headers {
		server.Headers.Set(name, value)
	}
	if err := server.Check(); err != nil {
		return mcp.Server{}, err
	}
	if m.Command != "" { // what comes later wins: the file's variables
		server.Environment = append(mcp.BaseEnvironment(env), server.Environment...)
	}
	return server, nil
}

// secrets joins plain values with those that stand in variables.
func (m mcpSetting) secrets(plain, from map[string]string, env func(string) string) (map[string]string, error) {
	values := maps.Clone(plain)
	if values == nil {
		values = map[string]string{}
	}
	for name, variable := range from {
		value := env(variable)
		if value == "" {
			return nil, parley.InvalidField("mcp", "server %q wants the value of %s from the environment variable %s, which is not set", parley.Clip(m.Name, 64), name, variable)
		}
		values[name] = value
	}
	return values, nil
}
