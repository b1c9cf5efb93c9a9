#!/usr/bin/env bash
# boot.sh FOLDER SOURCE: boots systemd in namespaces of its own, where it sees a copy-on-write view of this
# system, SOURCE as /team, and no other process. Must be run by `unshare --mount --pid --fork --cgroup --uts`, as
# root, with an empty FOLDER for what it writes.
set -euo pipefail
folder=$1 root=$1/root
mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
for path in run tmp dev sys/fs/cgroup; do mount -t tmpfs tmpfs "$root/$path"; done
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
# Nothing of this system is started there.
rm -rf "$root"/etc/systemd/system/*.wants "$root/etc/nginx/conf.d" "$root/etc/nginx/sites-enabled"
mkdir -p "$root/etc/nginx/conf.d"
printf '127.0.0.1 localhost machine tools.example\n' >"$root/etc/hosts"
echo machine >"$root/etc/hostname"
mkdir "$root/team"
mount --bind "$2" "$root/team"
# Mount namespaces of services need the root of the outer one to be a mount.
cd "$root"
mkdir before
pivot_root . before
umount --lazy before
exec env -i container=wharf PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --unit=basic.target --log-level=warning --show-status=no
