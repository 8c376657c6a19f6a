#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The project's own ICRC oracle, unchanged but for these lines, from its collection of RoCEv2 reference material; see README.md.
"""RoCEv2 invariant CRC (ICRC). Stand-alone, no dependencies beyond zlib.

icrc(frame) -> 4 bytes exactly as they appear on the wire (the last 4 bytes of
the UDP payload, before the Ethernet FCS).
  * CRC-32/IEEE 802.3: poly 0x04C11DB7 (reflected 0xEDB88320), init 0xFFFFFFFF,
    reflected in/out, final XOR 0xFFFFFFFF  (== zlib.crc32)
  * input = 8 x 0xFF (masked LRH; leaves raw CRC register 0xDEBB20E3)
            + IP header + UDP header + BTH + ext headers + payload + pad
    with these fields replaced by all-ones:
      IPv4: TOS byte (DSCP+ECN), TTL, header checksum
      IPv6: traffic class (8b), flow label (20b), hop limit
      UDP : checksum
      BTH : byte 4 (FECN, BECN, Resv6a) == resv8a
    IP total length / IPv6 payload length / UDP length already include the 4
    ICRC bytes.  Ethernet header and 802.1Q tag are not covered.
  * the 32-bit result is put in the packet least-significant byte first.
"""
import struct, zlib, sys

def l3_offset(fr):
    """offset of IP header, ethertype (skips any 802.1Q/802.1ad tags)"""
    o = 12
    et = struct.unpack_from('!H', fr, o)[0]
    while et in (0x8100, 0x88a8, 0x9100):
        o += 4
        et = struct.unpack_from('!H', fr, o)[0]
    return o + 2, et

def masked(ip):
    """ip: bytes starting at the IP header, ending before the ICRC."""
    b = bytearray(ip)
    v = b[0] >> 4
    if v == 4:
        ihl = (b[0] & 15) * 4
        b[1] = 0xff                      # TOS
        b[8] = 0xff                      # TTL
        b[10] = b[11] = 0xff             # header checksum
        u = ihl
    elif v == 6:
        b[0] |= 0x0f                     # TC[7:4]
        b[1] = b[2] = b[3] = 0xff        # TC[3:0] + flow label
        b[7] = 0xff                      # hop limit
        u = 40
    else:
        raise ValueError('not IP')
    b[u+6] = b[u+7] = 0xff               # UDP checksum
    b[u+8+4] = 0xff                      # BTH resv8a (FECN/BECN/resv6)
    return bytes(b)

def ip_len(ip):
    return struct.unpack_from('!H', ip, 2)[0] if ip[0] >> 4 == 4 else 40 + struct.unpack_from('!H', ip, 4)[0]

def icrc_ip(ip_no_icrc):
    return struct.pack('<I', zlib.crc32(b'\xff'*8 + masked(ip_no_icrc)) & 0xffffffff)

def icrc(frame):
    """frame: Ethernet frame without FCS, last 4 bytes of IP packet are the ICRC."""
    o, et = l3_offset(frame)
    ip = frame[o:]
    n = ip_len(ip)
    return icrc_ip(ip[:n-4])

def check(frame):
    o, et = l3_offset(frame)
    ip = frame[o:]
    n = ip_len(ip)
    if n > len(ip):
        return False, None, None, n - len(ip)
    got = bytes(ip[n-4:n]); want = icrc_ip(ip[:n-4])
    return got == want, got, want, len(ip) - n   # last = trailing bytes (pad/FCS)

def crc32_bitwise(data, crc=0xffffffff):
    """reference bit-serial form for RTL (reflected, LSB first); no final xor"""
    for x in data:
        crc ^= x
        for _ in range(8):
            crc = (crc >> 1) ^ (0xedb88320 if crc & 1 else 0)
    return crc

if __name__ == '__main__':
    assert crc32_bitwise(b'\xff'*8) == 0xdebb20e3
    for l in sys.stdin:
        l = l.strip()
        if not l or l.startswith('#'): continue
        f = l.split('|')
        fr = bytes.fromhex(f[-1].strip())
        ok, got, want, tr = check(fr)
        print(f[0].strip(), len(fr), 'OK' if ok else 'BAD', got.hex() if got else None, want.hex() if want else None, 'trail', tr)
