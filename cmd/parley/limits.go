package main

import (
	"syscall"

	"example.org/parley"
	"example.org/parley/httpapi"
)

// How a process's descriptors are shared. Go raises the soft limit to the hard one when it starts.
const (
	clientShare      = 4         // one of four, at least leastDescriptors, is for
	leastDescriptors = 64        // the database, files and providers; clients get the rest
	mostDescriptors  = 1_000_000 // if the system sets no limit
	mostProbes       = 64        // connections of the metrics' own address
)

// connectionLimits derives the bounds of clients' connections from the process's limit of descriptors.
func (s *server) connectionLimits() (httpapi.ConnectionLimits, error) {
	proxies, err := s.settings.proxies()
	if err != nil {
		return httpapi.ConnectionLimits{}, err
	}
	limit := syscall.Rlimit{Cur: mostDescriptors}
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return httpapi.ConnectionLimits{}, err
	}
	descriptors := int(min(limit.Cur, mostDescriptors)) //nolint:gosec // bounded
	reserved := max(descriptors/clientShare, leastDescriptors)
	if descriptors <= 2*leastDescriptors {
		return httpapi.ConnectionLimits{}, parley.Errorf(
			parley.CodeUnavailable,
			"this process may open %d files at once, "+
				"and needs more than %d: raise the limit (ulimit -n, or LimitNOFILE in a unit)",
			descriptors,
			2*leastDescriptors,
		)
	}
	return httpapi.ConnectionLimits{Most: descriptors - reserved, Proxies: proxies, Log: s.log}, nil
}
