# SPDX-License-Identifier: Apache-2.0
"""What is said about a command line that is wrong: the word, what may have been meant, and exit code 2."""
import unittest

from harness import Sandbox

LATER = ["compare", "recommend", "merge", "import"]


class CommandLine(Sandbox):
    def refusal(self, *arguments):
        code, out, err = self.run_program(*arguments)
        self.assertEqual((code, out), (2, ""), err)
        return err

    def test_an_unknown_command_is_named_with_the_nearest(self):
        for words, message in {
            ("reprot", "x.h5"): 'unknown command "reprot", did you mean report; see: batchsweep --help',
            ("foo",): 'unknown command "foo"; see: batchsweep --help',
            ("help",): 'unknown command "help"; see: batchsweep --help',
            (): "a command is missing; see: batchsweep --help",
        }.items():
            self.assertEqual(self.refusal(*words), f"batchsweep: {message}\n")

    def test_a_command_that_is_still_to_come_is_not_unknown(self):
        for command in LATER:
            self.assertEqual(self.refusal(command, "x", "--dry-run"), f"batchsweep: {command}: not available yet\n")

    def test_a_wrong_option_is_named_before_what_is_missing(self):
        for words, message in {
            ("run", "--helpp"): 'unknown option "--helpp", did you mean --help; see: batchsweep run --help',
            ("run", "--result=x.h5", "s.toml"): 'unknown option "--result=x.h5", did you mean --results; see: batchsweep run --help',
            ("report", "x.h5", "-q"): 'unknown option "-q"; see: batchsweep report --help',
            ("--versoin",): 'unknown option "--versoin", did you mean --version; see: batchsweep --help',
            ("run", "s.toml", "t.toml"): 'unexpected "t.toml"; see: batchsweep run --help',
            ("run",): "SWEEP is required; see: batchsweep run --help",
        }.items():
            self.assertEqual(self.refusal(*words), f"batchsweep: {message}\n")

    def test_the_sentences_of_the_help_are_uniform(self):
        code, out, err = self.run_program("--help")
        self.assertEqual(code, 0, err)
        sentences = [line.split(None, 1)[1] for line in out.split("Subcommands:\n")[1].splitlines() if line.startswith("  ") and line[2] != " "]
        self.assertEqual(len(sentences), 12)
        for sentence in sentences:
            self.assertTrue(sentence[0].islower() and not sentence.endswith("."), sentence)


if __name__ == "__main__":
    unittest.main()
