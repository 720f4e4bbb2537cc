package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"

	"example.org/parley/internal/netguard"
)

// TestErrorsAreExplained: in words of our own, without the URL and without what this machine's network says.
func TestErrorsAreExplained(t *testing.T) {
	t.Parallel()
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	dial := func(err error) error {
		return &url.Error{Op: "Post", URL: "https://x/?token=1", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{t.Context(), dial(&net.DNSError{Err: "no such host", Name: "x", Server: "10.0.0.2:53"}),
			"the endpoint's name could not be resolved"},
		{t.Context(), dial(errors.New("10.0.0.9:80: refused")), "the endpoint could not be connected to"},
		{t.Context(), dial(fmt.Errorf("%w: 10.0.0.9", netguard.ErrPrivate)),
			netguard.ErrPrivate.Error() + "; the operator can allow it with webhooks: {allow_private: true}"},
		{t.Context(), errors.New(`malformed HTTP response "SSH-2.0"`), "the endpoint's answer could not be read"},
		{late, dial(errors.New("i/o timeout")), "the endpoint did not answer within 10s"},
		{late, &statusError{500}, "the endpoint answered 500"},
	} {
		if got := explain(c.ctx, c.err); got != c.want {
			t.Errorf("%v is explained as %q; want %q", c.err, got, c.want)
		}
	}
}
