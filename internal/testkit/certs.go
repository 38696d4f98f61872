package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A CA signs certificates for one test. Their files are in a directory of the test.
type CA struct {
	File string // its own certificate, as PEM

	tb   testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA creates a CA that is valid for an hour.
func NewCA(tb testing.TB) *CA {
	tb.Helper()
	ca := &CA{tb: tb, dir: tb.TempDir()}
	ca.File, _, ca.cert, ca.key = ca.make("ca", &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	return ca
}

// Sign creates a certificate and a key for a server or a client, and returns their files. hosts are
// DNS names or IP addresses of a server. If lasts is negative, the certificate has expired.
func (ca *CA) Sign(name string, lasts time.Duration, hosts ...string) (cert, key string) {
	ca.tb.Helper()
	want := &x509.Certificate{
		NotAfter: time.Now().Add(lasts), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			want.IPAddresses = append(want.IPAddresses, ip)
		} else {
			want.DNSNames = append(want.DNSNames, host)
		}
	}
	cert, key, _, _ = ca.make(name, want, ca.cert, ca.key)
	return cert, key
}

// make creates a certificate signed by parent, or self-signed.
func (ca *CA) make(name string, want, parent *x509.Certificate, by *ecdsa.PrivateKey) (certFile, keyFile string, cert *x509.Certificate, key *ecdsa.PrivateKey) {
	fatal := func(err error) {
		if err != nil {
			ca.tb.Helper()
			ca.tb.Fatalf("create certificate of %s: %v", name, err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fatal(err)
	want.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	fatal(err)
	want.Subject, want.NotBefore = pkix.Name{CommonName: name}, time.Now().Add(-2*time.Hour)
	if want.NotAfter.IsZero() {
		want.NotAfter = time.Now().Add(time.Hour)
	}
	if parent == nil {
		parent, by = want, key
	}
	der, err := x509.CreateCertificate(rand.Reader, want, parent, &key.PublicKey, by)
	fatal(err)
	cert, err = x509.ParseCertificate(der)
	fatal(err)
	secret, err := x509.MarshalECPrivateKey(key)
	fatal(err)
	certFile, keyFile = filepath.Join(ca.dir, name+".crt"), filepath.Join(ca.dir, name+".key")
	fatal(os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	fatal(os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
	return certFile, keyFile, cert, key
}
