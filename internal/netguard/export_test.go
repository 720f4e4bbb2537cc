package netguard

import "net/http"

// RefusePrivate is the check before a connection is made.
func RefusePrivate(address string) error { return refusePrivate("tcp", address, nil) }

// Serve answers a client's requests with a scheme, without a connection.
func Serve(client *http.Client, scheme string, by http.RoundTripper) {
	client.Transport.(*authorised).next.RegisterProtocol(scheme, by) //nolint:forcetypeassert // NewClient made it
}
