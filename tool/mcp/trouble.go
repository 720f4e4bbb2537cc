package mcp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"syscall"

	"example.org/parley/internal/netguard"
)

// notExecutable is the exit status of a program's keeper, as of a shell, if the program may not be executed.
const notExecutable = 126

// errStatus is the HTTP status with which a server refused a connection.
type errStatus int

// Error returns the status as servers write it.
func (e errStatus) Error() string { return fmt.Sprintf("%d %s", int(e), http.StatusText(int(e))) }

// explain says why a server is away and what to do, for everybody who may list tools: without the paths, addresses and
// output that the log has.
func (s Server) explain(trouble error) (reason, do string) {
	var (
		ending *exec.ExitError
		status errStatus
		lookup *net.DNSError
		cert   *tls.CertificateVerificationError
		person *unauthorized
	)
	const log = "The server's log says more."
	switch {
	case errors.As(trouble, &person):
		if s.OAuth != nil && s.OAuth.Grant == GrantClient {
			return person.reason,
				"Correct `client_id` and `client_secret` of its `oauth` in parley.yaml, and restart Parley."
		}
		return person.reason, "An admin authorizes it: under Settings on the page, or with `parley tool-servers " +
			"authorize " + s.Name + "`."
	case errors.Is(trouble, exec.ErrNotFound), errors.Is(trouble, fs.ErrNotExist):
		return "its program is not found on the server's machine",
			"Install the program, or correct `command` in parley.yaml and restart Parley, which searches its own PATH."
	case errors.Is(trouble, fs.ErrPermission), errors.As(trouble, &ending) && ending.ExitCode() == notExecutable:
		return "its program may not be executed", "Make the program executable for the user that Parley runs as."
	case errors.As(trouble, &ending):
		return "its program ended with " + ending.Error(),
			"Parley's log has the last lines that it wrote to standard error. Try its command in a terminal."
	case errors.Is(trouble, errFlood):
		return "it sends more messages than Parley accepts",
			"Ask the server's maintainer why it sends so many; Parley tries again from time to time."
	case errors.Is(trouble, errSilent):
		return fmt.Sprintf("it did not answer within %s", s.connectTime()),
			"See whether it runs. If it only starts slowly, raise `connect_timeout` in parley.yaml. " + log
	case errors.Is(trouble, netguard.ErrPrivate):
		return "its URL leads to a private address, which is not allowed",
			"If you trust the server, write `allow_private: true` for it in parley.yaml and restart Parley."
	case errors.As(trouble, &status) && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		return "it refused Parley's credentials: " + status.Error(),
			"Correct its `secret_headers` in parley.yaml, or their variables; if the server wants OAuth, write " +
				"`oauth: {}` for it. Then restart Parley."
	case errors.As(trouble, &status):
		return "it answered " + status.Error(), "Check that its `url` in parley.yaml is an MCP endpoint. " + log
	case errors.Is(trouble, syscall.ECONNREFUSED):
		return "nothing listens at its address", "Start it, or correct `url` in parley.yaml and restart Parley."
	case errors.As(trouble, &lookup):
		return "the name of its host cannot be resolved", "Correct `url` in parley.yaml, or the machine's DNS. " + log
	case errors.As(trouble, &cert):
		return "its certificate is not trusted", "Have it use a certificate that this machine trusts. " + log
	}
	return "the connection to it failed", "Check that it speaks MCP. " + log
}

// waitsForPerson reports whether a server refuses everybody until a person acts: trying again changes nothing.
func waitsForPerson(trouble error) bool {
	var status errStatus
	var person *unauthorized
	return errors.As(trouble, &person) ||
		errors.As(trouble, &status) && (status == http.StatusUnauthorized || status == http.StatusForbidden)
}
