package mcp

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/internal/netguard"
)

const (
	// DefaultConnectTime is a server's time from its start to its first list of tools: package runners download the
	// server first.
	DefaultConnectTime = 60 * time.Second
	// longestTime bounds the configured times.
	longestTime = time.Hour
	// maxServerName leaves half of a tool's name to the tool.
	maxServerName = 30
	// maxServers bounds the configured servers.
	maxServers = 64
)

// Server is one configured server: a command that speaks over stdio, or the
// address of one that speaks streamable HTTP.
type Server struct {
	// Name begins the names of the server's tools: letters, digits, - and single _.
	Name string

	Command     string   // of a stdio server; found in PATH unless it is a path
	Args        []string // arguments of Command
	Environment []string // KEY=value; the process gets nothing else

	URL          string      // of a streamable HTTP server
	Headers      http.Header // sent only to the URL's origin; may contain secrets
	AllowPrivate bool        // the URL may lead to private and loopback addresses
	OAuth        *OAuth      // nil: Headers are all that the server wants

	ConnectTime time.Duration // 0: DefaultConnectTime
	CallTime    time.Duration // per tool call; 0: the caller's limit
	Protocol    string        // the newest version offered; "": the SDK's newest

	// replace what the server says, by the server's own names of tools; "*" for all others
	Tools map[string]parley.AnnotationsOverride
}

var serverName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]*$`)

// Check reports an invalid configuration as CodeInvalid. It repeats no argument, header or variable.
func (s Server) Check() error {
	invalid := func(format string, args ...any) error {
		return parley.InvalidField("mcp", "server "+quoted(s.Name)+": "+format, args...)
	}
	switch {
	case s.Name == "":
		return parley.InvalidField("mcp", "a server needs a name; its tools are called name__tool")
	case len(s.Name) > maxServerName || !serverName.MatchString(s.Name) || strings.Contains(s.Name, nameJoint) ||
		strings.HasSuffix(s.Name, "_"):
		return invalid("a name is 1 to %d letters, digits, - and single _ between them", maxServerName)
	case (s.Command == "") == (s.URL == ""):
		return invalid("give either command (and args), to start it here, or url")
	case s.Command == "" && (len(s.Args) > 0 || len(s.Environment) > 0):
		return invalid("args and environment are for a command; a url has headers")
	case s.Command != "" && (len(s.Headers) > 0 || s.AllowPrivate):
		return invalid("headers and allow_private are for a url; a command has args and environment")
	case s.OAuth != nil && (s.URL == "" || s.Headers.Get("Authorization") != ""):
		return invalid("oauth is for a url, and instead of a header Authorization")
	case s.OAuth != nil && s.OAuth.Grant != GrantCode && s.OAuth.Grant != GrantClient:
		return invalid("oauth.grant is %s or %s", GrantCode, GrantClient)
	case s.OAuth != nil && s.OAuth.Grant == GrantClient && (s.OAuth.ClientID == "" || s.OAuth.ClientSecret == ""):
		return invalid("oauth.grant %s needs client_id and client_secret", GrantClient)
	case s.ConnectTime < 0 || s.ConnectTime > longestTime || s.CallTime < 0 || s.CallTime > longestTime:
		return invalid("its times lie between 0 (the default) and %s", longestTime)
	case s.Protocol != "" && !slices.Contains(sdk.SupportedProtocolVersions(), s.Protocol):
		return invalid("protocol must be one of %s", strings.Join(sdk.SupportedProtocolVersions(), ", "))
	}
	if s.URL != "" {
		parsed, err := url.Parse(s.URL)
		if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
			return invalid("url must be http:// or https:// with a host")
		}
		if parsed.User != nil {
			return invalid("url must hold no user and password; send them by secret_headers")
		}
	}
	return nil
}

// annotations returns what the server says of a tool, with the configuration's replacements. A read-only tool destroys
// nothing, unless configured otherwise.
func (s Server) annotations(given *sdk.Tool) parley.ToolAnnotations {
	over, ok := s.Tools[given.Name]
	if !ok {
		over = s.Tools["*"]
	}
	a := over.Over(annotate(given.Annotations))
	a.Destructive = a.Destructive && (!a.ReadOnly || over.Destructive != nil)
	return a
}

func (s Server) connectTime() time.Duration {
	if s.ConnectTime == 0 {
		return DefaultConnectTime
	}
	return s.ConnectTime
}

// secrets returns the values that no log may show.
func (s Server) secrets() (values []string) {
	for _, entry := range s.Environment {
		if name, value, _ := strings.Cut(entry, "="); !slices.Contains(plainVariables, name) {
			values = append(values, value)
		}
	}
	if s.OAuth != nil {
		values = append(values, s.OAuth.ClientSecret)
	}
	if parsed, err := url.Parse(s.URL); err == nil {
		values = append(values, parsed.RequestURI()) // some hosts expect a key there
	}
	return values
}

// shortestSecret is the length below which nothing is redacted: "true" or "/mcp" would match everywhere.
const shortestSecret = 6

// redact removes configured secrets from a text for the log.
func (s Server) redact(text string) string {
	text = netguard.Redact(text, s.Headers)
	for _, secret := range s.secrets() {
		if len(secret) >= shortestSecret {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// plainVariables are not secrets, and their values occur in many lines.
var plainVariables = []string{ //nolint:gochecknoglobals // never written
	"PATH",
	"HOME",
	"LANG",
	"LC_ALL",
	"LC_CTYPE",
	"LOGNAME",
	"SHELL",
	"TERM",
	"TMPDIR",
	"TZ",
	"USER",
}

// BaseEnvironment returns the part of this process's environment that every stdio server gets: what programs need to
// run, and no credentials.
func BaseEnvironment(env func(string) string) (entries []string) {
	for _, name := range plainVariables {
		if value := env(name); value != "" {
			entries = append(entries, name+"="+value)
		}
	}
	return entries
}

func quoted(name string) string { return `"` + parley.Clip(name, 64) + `"` }
