# SPDX-License-Identifier: Apache-2.0
"""A Slurm of the tests' own on this machine: munged, slurmctld and three slurmd in a temporary folder, with typed GPUs that are character
devices. Needs root and Debian's packages, no systemd; ends exactly the processes that it started.

    n1  4 CPUs, 2 x a100        n2  4 CPUs, 1 x v100        n3  4 CPUs
    partitions main (default, may be preempted) and urgent
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid

from processes import processes_with

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "scancel", "sinfo"]
NODES = ["n1", "n2", "n3"]

SLURM_CONF = """
ClusterName=tests
SlurmctldHost={controller}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
# Without a folder a node, srun --mpi=pmix fails where several nodes are one machine.
TmpFS={folder}/tmp/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=10
KillWait=2
MinJobAge=300
MailProg=/bin/true
MpiDefault=none
GresTypes=gpu
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
NodeName=n1 {places[0]} CPUs=4 RealMemory=2000 Gres=gpu:a100:2
NodeName=n2 {places[1]} CPUs=4 RealMemory=2000 Gres=gpu:v100:1
NodeName=n3 {places[2]} CPUs=4 RealMemory=2000
PartitionName=main   Nodes=n[1-3] Default=YES State=UP PriorityTier=10 GraceTime=30
PartitionName=urgent Nodes=n[1-3] State=UP PriorityTier=100
"""
GRES_CONF = """
NodeName=n1 Name=gpu Type=a100 File={folder}/gpu-[0-1]
NodeName=n2 Name=gpu Type=v100 File={folder}/gpu-2
"""


def why_not_here():
    """Why no Slurm can be started on this machine; None: it can."""
    if os.geteuid() != 0:
        return "a private Slurm needs root"
    missing = [program for program in PROGRAMS if shutil.which(program, path=search_path()) is None]
    if missing:
        return f"not installed: {' '.join(missing)} (scripts/setup --tests installs Slurm)"
    return None


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def free_ports(count):
    """Ports that nobody listens on now; all held until all are found."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def name_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def wait_until(condition, within, describe=lambda: ""):
    deadline = time.monotonic() + within
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"condition not met within {within} s; {describe()}")
        time.sleep(0.05)
    return value


class PrivateSlurm:
    """All nodes are this machine, told apart by their ports. A subclass may put each elsewhere (hosts.py)."""

    def prepare(self):
        pass

    def places(self):
        """Where slurm.conf says that the controller and the nodes are."""
        host, ports = socket.gethostname().split(".")[0], free_ports(1 + len(NODES))
        return f"{host}(127.0.0.1)\nSlurmctldPort={ports[0]}", [f"NodeHostname={host} NodeAddr=127.0.0.1 Port={port}" for port in ports[1:]]

    def inside(self, where):
        """What stands in front of a command that shall run there ("controller" or a node)."""
        return []

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="batchsweep-slurm-"))
        self.folder.chmod(0o755)  # munge refuses a socket that not everybody can reach
        self.tag = uuid.uuid4().hex
        self.daemons = {}
        try:
            self.prepare()
            self._configure()
            self._start("munged", "controller", "munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket",
                        f"--key-file={self.folder}/munge.key", f"--pid-file={self.folder}/munged.pid",
                        f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munged.seed")
            wait_until((self.folder / "munge.socket").exists, 20, lambda: self.log("munged.out"))
            self._start("slurmctld", "controller", "slurmctld", "-D", "-f", f"{self.folder}/slurm.conf")
            for node in NODES:
                self.start_node(node)
            wait_until(self.is_idle, 60, self.describe)
        except BaseException:
            self.stop()
            raise

    def _configure(self):
        controller, places = self.places()
        values = {"folder": self.folder, "controller": controller, "places": places}
        (self.folder / "slurm.conf").write_text(SLURM_CONF.format(**values))
        (self.folder / "gres.conf").write_text(GRES_CONF.format(**values))
        if pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists():
            (self.folder / "cgroup.conf").write_text("IgnoreSystemd=yes\n")
        for node in NODES:
            (self.folder / "spool" / node).mkdir(parents=True)
            (self.folder / "tmp" / node).mkdir(parents=True)
        (self.folder / "state").mkdir()
        for gpu in range(3):  # plain files are refused as GPUs
            os.mknod(self.folder / f"gpu-{gpu}", 0o666 | 0o020000, os.makedev(1, 3))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)

    def environment(self, **extra):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(("OMPI_", "PMIX_", "SLURM", "SBATCH_", "SRUN_"))}
        env.update(PATH=search_path(), SLURM_CONF=f"{self.folder}/slurm.conf", SLURM_TESTS_TAG=self.tag,
                   OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")
        return {**env, **extra}

    def _start(self, name, where, *command):
        with open(self.folder / f"{name}.out", "ab") as out:
            self.daemons[name] = subprocess.Popen([*self.inside(where), *command], env=self.environment(), stdin=subprocess.DEVNULL, stdout=out,
                                                  stderr=subprocess.STDOUT, cwd=self.folder)

    def start_node(self, node):
        self._start(node, node, "slurmd", "-D", "-f", f"{self.folder}/slurm.conf", "-N", node)

    def log(self, name):
        try:
            return (self.folder / name).read_text(errors="replace")[-3000:]
        except OSError:
            return ""

    def describe(self):
        return "\n".join([self.ask("sinfo", "-N", "-l"), self.ask("squeue"), *(self.log(f"{name}.out") for name in self.daemons)])

    def ask(self, *command, check=False, **extra):
        """What one of Slurm's commands says."""
        done = subprocess.run([*self.inside("controller"), *command], env=self.environment(**extra), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{command} says {done.returncode}: {done.stdout}")
        return done.stdout

    def is_idle(self):
        return self.ask("sinfo", "-h", "-N", "-p", "main", "-o", "%T").split() == ["idle"] * len(NODES)

    # --- jobs

    def job(self, job_id):
        """The fields of scontrol show job; {} where Slurm knows none."""
        text = self.ask("scontrol", "show", "job", "-o", job_id)
        return dict(word.partition("=")[::2] for word in text.split() if "=" in word)

    def state(self, job_id):
        return self.job(job_id).get("JobState", "")

    def wait_for_state(self, job_id, *states, within=60):
        return wait_until(lambda: (state := self.state(job_id)) in states and state, within,
                          lambda: f"{job_id} is {self.job(job_id)}\n{self.describe()}")

    def start_again_now(self, job_id):
        """Slurm lets a requeued job wait for two minutes: not here. Within the second in which its credential was revoked it would be refused."""
        self.wait_for_state(job_id, "PENDING")
        self.ask("scontrol", "update", f"jobid={job_id}", "StartTime=now+2", check=True)

    def processes_on(self, node):
        """Tasks of jobs on the node, and the step daemons above them."""
        needle, found = f"\0SLURMD_NODENAME={node}\0".encode(), set()
        for pid in processes_with("SLURM_TESTS_TAG", self.tag):
            try:
                if needle in b"\0" + pathlib.Path(f"/proc/{pid}/environ").read_bytes() + b"\0":
                    found.add(pid)
                    if name_of(parent := parent_of(pid)) == "slurmstepd":
                        found.add(parent)
            except OSError:
                pass
        return found

    def kill_node(self, node):
        """As a power cut: its daemon, its step daemons and its tasks, all at once and without a word."""
        victims = self.processes_on(node)
        daemon = self.daemons.pop(node)
        for pid in [daemon.pid, *victims]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        daemon.wait()

    # --- the end

    def cancel_all(self):
        self.ask("scancel", "--user=root")
        wait_until(lambda: not self.ask("squeue", "-h").strip(), 60, self.describe)

    def stop(self):
        """Jobs first, so that their step daemons end by themselves; then the daemons; at last whatever carries the tag."""
        try:
            if "slurmctld" in self.daemons:
                self.ask("scancel", "--user=root")
                wait_until(lambda: not self.ask("squeue", "-h").strip(), 20)
        except (AssertionError, subprocess.TimeoutExpired):
            pass
        for name in [*NODES, "slurmctld", "munged"]:
            daemon = self.daemons.pop(name, None)
            if daemon is None:
                continue
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for pid in set(processes_with("SLURM_TESTS_TAG", self.tag)) - {os.getpid()}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)
