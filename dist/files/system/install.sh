# After the files are there: the user of the service, and its folders.
if ! getent passwd wharf >/dev/null; then
    useradd --system --user-group --no-create-home --home-dir /var/lib/wharf --shell /usr/sbin/nologin wharf
fi
install -d -m 700 -o wharf -g wharf /var/lib/wharf
# So that files in it have the group that may read them.
chgrp wharf /etc/wharf
chmod 2750 /etc/wharf
[ -d /etc/wharf/tokens ] || install -d -m 2750 -g wharf /etc/wharf/tokens
chgrp wharf /etc/wharf/wharf.toml
[ -d /srv/wharf/plugins ] || install -d -m 755 /srv/wharf /srv/wharf/plugins
