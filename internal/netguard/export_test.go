package netguard

import "net/http"

// RefusePrivate is what a connection asks before it is made.
func RefusePrivate(address string) error { return refusePrivate("tcp", address, nil) }

// Serve answers a client's requests of a scheme without a connection.
func Serve(client *http.Client, scheme string, by http.RoundTripper) {
	client.Transport.(*authorised).next.RegisterProtocol(scheme, by) //nolint:forcetypeassert // NewClient made it
}
