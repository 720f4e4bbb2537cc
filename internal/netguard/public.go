package netguard

import "net/netip"

// reserved are networks without public servers, besides those known to net/netip (RFC 6890 and IANA's registries of
// special addresses).
var reserved = []netip.Prefix{ //nolint:gochecknoglobals // never written
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared by carriers
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"),     // protocols: Teredo, benchmarks, ORCHID
	netip.MustParsePrefix("2001:db8::/32"), // documentation
	netip.MustParsePrefix("2002::/16"),     // 6to4
	netip.MustParsePrefix("3fff::/20"),     // documentation
}

// unicast is the range of public IPv6 addresses. All others are private, local, reserved or tunnelled: IPv4-compatible
// addresses, NAT64's local ones, deprecated site-local ones.
var unicast = netip.MustParsePrefix("2000::/3") //nolint:gochecknoglobals // never written

// translated is NAT64's well-known network: the way to IPv4 from a network without it. The last four bytes are the IPv4
// address.
var translated = netip.MustParsePrefix("64:ff9b::/96") //nolint:gochecknoglobals // never written

// Public reports whether an address can belong to a public server. An address that a translator maps to IPv4 is judged
// by that; tunnels (Teredo, 6to4, ISATAP, IPv4-compatible addresses) are never public.
func Public(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if !address.IsGlobalUnicast() || address.IsPrivate() {
		return false
	}
	for _, network := range reserved {
		if network.Contains(address) {
			return false
		}
	}
	if address.Is4() {
		return true
	}
	bytes := address.As16()
	if translated.Contains(address) {
		return Public(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	return unicast.Contains(address) && !isISATAP(bytes)
}

// isISATAP reports whether an address ends in an IPv4 address behind a tunnel (RFC 5214): 0000:5efe or 0200:5efe, and
// the address.
func isISATAP(bytes [16]byte) bool {
	return bytes[8]&^2 == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe
}
