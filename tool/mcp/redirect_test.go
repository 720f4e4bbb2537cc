package mcp

import (
	"testing"

	"example.org/parley"
)

// TestRedirects: codes are sent to the person's own machine, or to hosts that the operator names, over https.
func TestRedirects(t *testing.T) {
	t.Parallel()
	hosts := []string{"parley.example.org", "chat.example.org:8443"}
	for redirect, allowed := range map[string]bool{
		"http://127.0.0.1:4711/callback":          true,
		"http://[::1]:1/":                         true,
		"https://localhost/":                      true,
		"https://parley.example.org/done":         true,
		"https://PARLEY.example.org:444/":         true,
		"https://chat.example.org:8443/":          true,
		"https://chat.example.org/":               false,
		"http://parley.example.org/done":          false,
		"https://evil.example/":                   false,
		"https://parley.example.org.evil.example": false,
		"https://parley.example.org@evil.example": false,
		"https://evil.example/#parley.example":    false,
		"http://127.0.0.1.evil.example/":          false,
		"http://192.168.0.1/":                     false,
		"javascript:alert(1)":                     false,
		"com.example.app://localhost/":            false,
		"":                                        false,
	} {
		err := checkRedirect(redirect, hosts)
		if (err == nil) != allowed || err != nil && parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%s: %v, want it allowed: %t", redirect, err, allowed)
		}
	}
}
