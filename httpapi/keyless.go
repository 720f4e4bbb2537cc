package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"example.org/parley"
)

// ErrCannotTell says that the system does not tell which user a connection belongs to.
var ErrCannotTell = errors.New("httpapi: this system does not tell which user a connection belongs to")

// keyless decides who may enter without a key, on loopback while none exists. Every user of the machine can connect
// there, so a connection alone proves nothing.
type keyless struct {
	loopback bool
	open     bool                        // to every user of the machine, as its owner decided
	own      func(context.Context) error // nil: nobody is known
}

// admit lets the server's own user in. A forwarded request always needs a key: its connection is the proxy's, not the
// sender's.
func (k *keyless) admit(r *http.Request) error {
	if header := forwarding(r.Header); header != "" {
		return parley.Errorf(
			parley.CodeUnauthenticated,
			"A proxy passed this request on (it has the header %s), so it needs a key: make one with "+
				"`parley keys create --name NAME` and send it in the header Authorization: Bearer.",
			header,
		)
	}
	if foreignOrigin(r) {
		return errKeyFromElsewhere()
	}
	if k.open {
		return nil
	}
	err := ErrCannotTell
	if k.own != nil {
		err = k.own(r.Context())
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrCannotTell):
		return parley.Errorf(
			parley.CodeUnauthenticated,
			"This system does not tell Parley which user a connection belongs to, "+
				"so you must show who you are. "+
				"In a browser, open the address with the one-time code that `parley serve` "+
				"printed, or sign in "+
				"with the content of the file token in the server's data directory. Programs send that content, or "+
				"a key "+
				"(`parley keys create --name NAME`), in the header Authorization: Bearer.",
		)
	}
	return parley.Errorf(
		parley.CodeUnauthenticated,
		"Without a key this server admits only the user who runs it, and this connection "+
			"is not that user's. Ask that user for a key (`parley keys create --name NAME`) and send it in the header "+
			"Authorization: Bearer. If you are that user, send the content of the file token in the server's data "+
			"directory.",
	)
}

// forwarding is the header that shows that a proxy passed the request on; "" without one.
func forwarding(header http.Header) string {
	for name := range header {
		switch {
		case name == "Forwarded", name == "Via", name == "X-Real-Ip", strings.HasPrefix(name, "X-Forwarded-"):
			return name
		}
	}
	return ""
}
