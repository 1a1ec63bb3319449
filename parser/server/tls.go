package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// mode is the mode that is meant; see SSLMode.
func (o Options) mode(network string) SSLMode {
	m := o.SSLMode
	if m == "" && o.SSLCA != "" {
		m = VerifyCA
	}
	if m == "" {
		m = Preferred
	}
	if m == Preferred && network == "unix" {
		m = Disabled
	}
	return m
}

// tlsConfig reads the certificates that o names. It returns nil where mode is
// Disabled.
func (o Options) tlsConfig(mode SSLMode) (*tls.Config, error) {
	if mode == Disabled {
		return nil, nil
	}
	config := &tls.Config{ServerName: o.Host}
	if o.Host == "" || o.Protocol == Socket {
		config.ServerName = "localhost"
	}
	if o.SSLCert != "" {
		pair, err := tls.LoadX509KeyPair(o.SSLCert, o.SSLKey)
		if err != nil {
			return nil, fmt.Errorf("ssl-cert and ssl-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if mode == VerifyCA || mode == VerifyIdentity {
		if o.SSLCA != "" {
			pem, err := os.ReadFile(o.SSLCA)
			if err != nil {
				return nil, fmt.Errorf("ssl-ca: %w", err)
			}
			config.RootCAs = x509.NewCertPool()
			if !config.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("ssl-ca: %s holds no certificate in PEM form", o.SSLCA)
			}
		}
		if mode == VerifyIdentity {
			return config, nil
		}
		config.VerifyConnection = func(s tls.ConnectionState) error { return verifyChain(s, config.RootCAs) }
	}
	config.InsecureSkipVerify = true // Go's own check would be that of VerifyIdentity
	return config, nil
}

// verifyChain checks who signed the server's certificate, and not to whom.
func verifyChain(s tls.ConnectionState, roots *x509.CertPool) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the server has no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}

// verifyHint explains what people meet most.
func verifyHint(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "; --ssl-mode=VERIFY_CA does not compare the host"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "; --ssl-ca names the authority to trust"
	}
	return ""
}
