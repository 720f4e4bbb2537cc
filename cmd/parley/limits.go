package main

import (
	"syscall"

	"example.org/parley"
	"example.org/parley/httpapi"
)

// What a process's descriptors are for. Go raises the soft limit to the hard one at
// its start.
const (
	clientShare      = 4         // of every four descriptors three are clients' connections;
	leastDescriptors = 64        // the rest, and no fewer, the database's, files', providers'
	mostDescriptors  = 1_000_000 // where the system sets no limit
	mostProbes       = 64        // connections of the metrics' own address
)

// connectionLimits are the bounds of clients' connections by the process's descriptors.
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
